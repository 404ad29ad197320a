//! The command line: options, commands, exit statuses.
