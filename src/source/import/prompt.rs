//! Lines that a terminal or a page prints around listings: prompts with a command, questions of sudo, fences of Markdown.

/// Programs whose name alone begins a command.
const TOOLS: [&str; 13] = [
    "lspci",
    "setpci",
    "nvme",
    "lsblk",
    "fdisk",
    "dmesg",
    "cat",
    "lshw",
    "uname",
    "journalctl",
    "ls",
    "readlink",
    "udevadm",
];

/// Words before a program.
const BEFORE: [&str; 3] = ["sudo", "doas", "time"];

/// Whether a line has nothing of a listing: a prompt with a command, a command alone, a question of sudo, a fence.
pub(super) fn is_prompt(line: &str) -> bool {
    let line = line.trim();
    is_fence(line)
        || line.starts_with("[sudo] ")
        || is_tool(line)
        || command(line).is_some_and(|(ends, command)| may_follow(ends, command))
}

/// Whether a line is a prompt with a command, or a command alone: what follows is its output.
pub(super) fn is_command(line: &str) -> bool {
    let line = line.trim();
    !is_fence(line)
        && (is_tool(line)
            || command(line).is_some_and(|(ends, text)| !text.is_empty() && may_follow(ends, text)))
}

/// Whether a person left this line in place of others: `[...]`, `<snip>`, `...`.
pub(super) fn is_snip(line: &str) -> bool {
    let line = line.trim();
    let inner = line.trim_matches(|c: char| "[]<>(){}-=~*. \u{2026}".contains(c)).to_ascii_lowercase();
    let is_mark = ["snip", "snipped", "cut", "omitted", "skipped"].contains(&inner.as_str());
    let is_dots = || inner.is_empty() && (line.contains("..") || line.contains('\u{2026}'));
    is_mark && inner.len() < line.len() || is_dots()
}

/// The fence of a block of code.
pub(super) const FENCE: &str = "```";

/// Three backticks or tildes, with or without a language.
pub(super) fn is_fence(line: &str) -> bool {
    let language = line.strip_prefix(FENCE).or_else(|| line.strip_prefix("~~~"));
    language.is_some_and(|word| word.len() <= 16 && word.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// The prompt's last character and what follows it.
fn command(line: &str) -> Option<(char, &str)> {
    const MOST: usize = 120;
    if let Some(rest) = line.strip_prefix(['\u{276f}', '\u{279c}', '\u{3bb}']) {
        return Some(('\u{276f}', rest.trim_start()));
    }
    let is_end = |letter: char| ['$', '#', '%', '>'].contains(&letter);
    for (at, letter) in line.char_indices().take(MOST).filter(|(_, letter)| is_end(*letter)) {
        if is_place(line[..at].trim_end(), letter) {
            return Some((letter, line[at + 1..].trim_start()));
        }
    }
    None
}

/// Whether a text names a user, host or folder, as prompts do: `root@host:~`, `[me@host pci]`, `host:/tmp`, `PS C:\Users`.
fn is_place(text: &str, ends: char) -> bool {
    let inner = text.strip_prefix('(').and_then(|rest| rest.split_once(") ")).map_or(text, |(_, rest)| rest);
    let inner = inner.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(inner);
    let is_user = || {
        inner.split_once('@').is_some_and(|(user, host)| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            !user.is_empty()
                && user.bytes().all(plain)
                && host.starts_with(|c: char| c.is_ascii_alphanumeric())
        })
    };
    let is_folder = || {
        inner.starts_with(['~', '/'])
            || inner.split_once(':').is_some_and(|(_, folder)| folder.trim().starts_with(['~', '/']))
    };
    let is_windows = || ends == '>' && inner.trim_start_matches("PS ").get(1..3) == Some(":\\");
    let words = inner.split_whitespace().count();
    inner.is_empty() || words <= 2 && (is_user() || is_folder() || is_windows())
}

/// Whether this is the command of a prompt. A line of Markdown or prose begins with `#`, `%` or `>` too: there a tool must follow.
fn may_follow(ends: char, text: &str) -> bool {
    let starts = |c: char| c.is_ascii_lowercase() || ['/', '.', '~'].contains(&c);
    match ends {
        '#' | '%' | '>' => {
            text.is_empty() || is_tool(text) || text.split(' ').any(|word| TOOLS.contains(&word))
        }
        _ => text.is_empty() || text.starts_with(starts),
    }
}

/// `sudo lspci -vv -s 01:00.0 | less`: a tool with options and no prose.
fn is_tool(line: &str) -> bool {
    let mut words = line.split_whitespace().skip_while(|word| BEFORE.contains(word));
    let Some(tool) = words.next() else { return false };
    let tool = tool.rsplit(['/', '\\']).next().unwrap_or(tool);
    let tool = tool.strip_suffix(".exe").unwrap_or(tool);
    let is_argument = |word: &str| {
        word.starts_with(['-', '/', '"', '\''])
            || word.starts_with(|c: char| c.is_ascii_digit())
            || ["list", "id-ns", "id-ctrl", "smart-log"].contains(&word)
    };
    TOOLS.contains(&tool)
        && words.take_while(|word| !["|", ">", "&&", ";", "2>&1"].contains(word)).all(is_argument)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_of_shells_are_known() {
        for line in [
            "$ lspci -vvv",
            "root@host:~# lspci -tv",
            "root@pve1:~# ",
            "[me@host pci]$ lspci -nn | grep -i nvme",
            "me@host ~ $ sudo lspci -vv",
            "(base) jo@box:/tmp$ nvme list",
            "pi@raspberrypi:~ $ lspci",
            "linux:~ # lspci -v",
            "# lspci -vv",
            "~$ cat /proc/interrupts",
            "\u{276f} lspci -t",
            "C:\\Users\\me> lspci -t -n",
            "PS C:\\> lspci.exe -vv",
            "sudo lspci -vvv -s 01:00.0",
            "lspci -nn | grep NVMe",
            "nvme list",
            "cat /proc/interrupts",
            "root@pve:~# ls -l /sys/class/nvme",
            "readlink -f /sys/class/nvme/nvme0",
            "[sudo] password for me: ",
            "```bash",
            "```",
        ] {
            assert!(is_prompt(line), "{line}");
        }
    }

    #[test]
    fn marks_in_place_of_lines_are_known() {
        for line in ["[...]", "...", "\u{2026}", "<snip>", "-- snip --", "[cut]", " (...) "] {
            assert!(is_snip(line), "{line}");
        }
        for line in ["", "-", "snip", "[AHCI Mode]", "+-01.0", "---- ----", "cut", "and so on ..."] {
            assert!(!is_snip(line), "{line}");
        }
    }

    #[test]
    fn words_of_people_are_no_prompts() {
        for line in [
            "Hello all,",
            "lspci shows the drive at Gen1",
            "# My machine",
            "I paid 300$ for this",
            "$ 300 for a drive",
            "## Hardware",
            "nvme drives are slow",
            "100 % of it",
            "01:00.0 Non-Volatile memory controller",
            "see a@b.example for # of drives",
            "",
        ] {
            assert!(!is_prompt(line), "{line}");
        }
    }
}
