//! Damage that no checksum shows: never a panic, a hang, or memory taken on the file's word.
#![expect(clippy::unwrap_used, reason = "tests")]

#[expect(unreachable_pub, reason = "the fuzz targets share this module")]
mod sealed;

/// Calls `work` with inputs that are made from a right one by a few changes each.
fn changed(right: &[u8], work: impl Fn(&[u8])) {
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    work(right);
    for _ in 0..3000 {
        let mut input = right.to_vec();
        for _ in 0..=next(3) {
            let at = next(input.len());
            match next(5) {
                0 => input[at] = [0, 1, 2, 0x7F, 0x80, 0xFF][next(6)],
                1 => input[at] ^= 1 << next(8),
                2 => input[at] = input[at].wrapping_add(1),
                3 => {
                    let to = (at + next(9)).min(input.len());
                    input[at..to].fill(0xFF);
                }
                _ => {
                    let from = next(input.len());
                    let len = next(24).min(input.len() - at).min(input.len() - from);
                    input.copy_within(from..from + len, at);
                }
            }
        }
        work(&input);
    }
}

/// Most memory that the process had so far, in bytes.
#[cfg(target_os = "linux")]
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    1024 * line.split_whitespace().next().unwrap().parse::<u64>().unwrap()
}

#[test]
fn invented_metadata_and_pages_are_read_or_refused() {
    changed(&sealed::sample_header(), sealed::header);
    changed(&sealed::sample_footer(), sealed::footer);
    changed(&sealed::sample_list(), sealed::page_list);
    for kind in 0..0x1E {
        for field in 0..12 {
            for count in [0, 1, 9, 200] {
                let stored = |len: usize| (0..len).map(|n| (n * 31 % 251) as u8);
                let input = |len| [kind, 19, field, count].into_iter().chain(stored(len)).collect::<Vec<_>>();
                (0..40).for_each(|len| sealed::page(&input(len)));
                let bytes = usize::from(count);
                let lens = [bytes.div_ceil(8), bytes, 2 * bytes, 4 * bytes, 8 * bytes];
                lens.into_iter().for_each(|len| sealed::page(&input(len)));
            }
        }
    }
    #[cfg(target_os = "linux")]
    assert!(peak_memory() < 1 << 30, "{} bytes", peak_memory());
}
