//! Errors of the kernel: numbers, symbolic names, words.

/// `EINVAL: Invalid argument`, for messages and captures.
pub fn errno_words(errno: i32) -> String {
    let io = std::io::Error::from_raw_os_error(errno).to_string();
    let words = io.split(" (os error").next().unwrap_or_default();
    match errno_name(errno) {
        Some(name) => format!("{name}: {words}"),
        None => format!("errno {errno}: {words}"),
    }
}

/// Likewise of an error; its own text where there is no number.
pub fn error_words(error: &std::io::Error) -> String {
    error.raw_os_error().map_or_else(|| error.to_string(), errno_words)
}

/// The symbolic name of the errnos that files and block devices answer with.
pub fn errno_name(errno: i32) -> Option<&'static str> {
    ERRNOS.iter().find(|(number, _)| *number == errno).map(|(_, name)| *name)
}

/// The errno of that symbolic name.
pub fn errno_number(name: &str) -> Option<i32> {
    ERRNOS.iter().find(|(_, known)| *known == name).map(|(number, _)| *number)
}

const ERRNOS: &[(i32, &str)] = &[
    (libc::EPERM, "EPERM"),
    (libc::ENOENT, "ENOENT"),
    (libc::EINTR, "EINTR"),
    (libc::EIO, "EIO"),
    (libc::ENXIO, "ENXIO"),
    (libc::EBADF, "EBADF"),
    (libc::EAGAIN, "EAGAIN"),
    (libc::ENOMEM, "ENOMEM"),
    (libc::EACCES, "EACCES"),
    (libc::EBUSY, "EBUSY"),
    (libc::EFAULT, "EFAULT"),
    (libc::EEXIST, "EEXIST"),
    (libc::ENFILE, "ENFILE"),
    (libc::EDQUOT, "EDQUOT"),
    (libc::ENODEV, "ENODEV"),
    (libc::ENOTDIR, "ENOTDIR"),
    (libc::EISDIR, "EISDIR"),
    (libc::EINVAL, "EINVAL"),
    (libc::EMFILE, "EMFILE"),
    (libc::ENOTTY, "ENOTTY"),
    (libc::ENOSPC, "ENOSPC"),
    (libc::EROFS, "EROFS"),
    (libc::ERANGE, "ERANGE"),
    (libc::ENOSYS, "ENOSYS"),
    (libc::ELOOP, "ELOOP"),
    (libc::ENODATA, "ENODATA"),
    (libc::EOVERFLOW, "EOVERFLOW"),
    (libc::EILSEQ, "EILSEQ"),
    (libc::EOPNOTSUPP, "EOPNOTSUPP"),
    (libc::ETIMEDOUT, "ETIMEDOUT"),
    (libc::EREMOTEIO, "EREMOTEIO"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_two_ways_to_say_the_same() {
        for (number, name) in ERRNOS {
            assert_eq!((errno_number(name), errno_name(*number)), (Some(*number), Some(*name)));
        }
        assert_eq!(errno_words(libc::EINVAL), "EINVAL: Invalid argument");
        assert_eq!(errno_words(-1).split(':').next(), Some("errno -1"));
    }
}
