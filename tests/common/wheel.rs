//! Lists that the wheel turns: keys that lead there, and a word under the pointer.

/// On the Threadripper demo at 80x24.
pub const LISTS: [(&str, &str); 12] = [
    ("2", "Findings  "),
    ("2", "gain  "),
    ("3", "readahead"),
    ("3", "values  "),
    ("4", "workload  "),
    ("5", "Experiments"),
    ("5", "takes  "),
    ("7", "In the sheet"),
    ("7", "Preview"),
    ("8", "Slots  as they are"),
    ("?", "marked for the test"),
    (":", "commands"),
];
