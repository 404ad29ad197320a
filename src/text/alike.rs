//! The names that a mistyped word may mean.

/// The three names that are most like a word.
pub(crate) fn nearest<'a>(word: &str, names: &[&'a str]) -> Vec<&'a str> {
    let mut names = names.to_vec();
    names.sort_by_key(|name| (!name.contains(word), strsim::levenshtein(word, name)));
    names.truncate(3);
    names
}

/// Those among them that hold the word, or have half its letters and more.
pub(crate) fn alike<'a>(word: &str, names: &[&'a str]) -> Vec<&'a str> {
    /// One letter is in many names.
    const LEAST: usize = 2;
    // A name of which less than half is the same is no slip of the fingers.
    let is_alike = |name: &&str| {
        word.len() >= LEAST && name.contains(word) || strsim::levenshtein(word, name) * 2 <= name.len()
    };
    nearest(word, names).into_iter().filter(is_alike).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_fingers_means_a_name_and_another_word_none() {
        let names = ["bs", "iodepth", "filename", "exact_timing"];
        assert_eq!(alike("filname", &names), ["filename"]);
        assert_eq!(alike("depth", &names), ["iodepth"]);
        assert_eq!(alike("colour", &names), [""; 0]);
        assert_eq!(alike("x", &names), [""; 0], "a letter");
    }
}
