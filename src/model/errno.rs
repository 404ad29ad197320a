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

/// The symbolic name of an errno of files and block devices.
pub fn errno_name(errno: i32) -> Option<&'static str> {
    ERRNOS.iter().find(|(number, _)| *number == errno).map(|(_, name)| *name)
}

/// The errno of that symbolic name.
pub fn errno_number(name: &str) -> Option<i32> {
    ERRNOS.iter().find(|(_, known)| *known == name).map(|(number, _)| *number)
}

/// Each with its number.
macro_rules! errnos {
    ($($name:ident)*) => { &[$((libc::$name, stringify!($name)),)*] };
}

const ERRNOS: &[(i32, &str)] = errnos!(
    EPERM ENOENT EINTR EIO ENXIO EBADF EAGAIN ENOMEM EACCES EBUSY EFAULT EEXIST ENFILE EDQUOT ENODEV ENOTDIR EISDIR EINVAL
    EMFILE ENOTTY ENOSPC EROFS ERANGE ENOSYS ELOOP ENODATA EOVERFLOW EILSEQ EOPNOTSUPP ETIMEDOUT EREMOTEIO
    EFBIG
);

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
