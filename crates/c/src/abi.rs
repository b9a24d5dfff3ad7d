//! The functions of `include/sapwood.h`: checks what callers pass, and writes what they get.
#![expect(unsafe_code, reason = "pointers of callers in C")]

use crate::open_files::{OpenFile, find, forget, keep, timed};
use crate::options::Options;
use crate::outcome::{guarded, outcome, refused};
use crate::report::Report;
use crate::{log_lines, monitoring, structure};
use sapwood_core::{ByteRange, Result, random_bytes};
use sapwood_root::RawFile;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::copy_nonoverlapping;
use std::slice;
use std::sync::Once;
use std::time::SystemTime;

/// `SAPWOOD_ABI`.
const ABI: u32 = 1;

/// `struct sapwood_range`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Range {
    offset: u64,
    length: u64,
    into: *mut c_void,
}

/// See `sapwood.h`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn sapwood_abi() -> u32 {
    ABI
}

/// See `sapwood.h`.
///
/// # Safety
/// `url` and `options` are null or end with a zero; `file` is null or can be written; `message` is null or has room for
/// `message_size` bytes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sapwood_open(
    url: *const c_char,
    options: *const c_char,
    seconds: f64,
    file: *mut u64,
    message: *mut c_char,
    message_size: usize,
) -> i32 {
    static BEGUN: Once = Once::new();
    let mut number = 0;
    let (code, text) = outcome(|| {
        BEGUN.call_once(log_lines::begin);
        if file.is_null() || !file.is_aligned() {
            return Err(refused("there is no place for the number of the file"));
        }
        // SAFETY: the caller promises that both are null or end with a zero.
        let (url, options) = unsafe { (text_at(url, "URL")?, text_at(options, "text of options")?) };
        let url = url.filter(|url| !url.is_empty()).ok_or_else(|| refused("there is no URL"))?;
        number = open(url, options.unwrap_or_default(), seconds)?;
        Ok(())
    });
    if !file.is_null() && file.is_aligned() {
        // SAFETY: the caller promises that what is not null can be written; it is aligned.
        unsafe { file.write(number) };
    }
    // SAFETY: the caller promises the room.
    unsafe { write_message(&text, message, message_size) };
    code
}

/// See `sapwood.h`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn sapwood_size(file: u64) -> u64 {
    guarded(|| find(file).map(|open| open.file.size())).and_then(Result::ok).unwrap_or(u64::MAX)
}

/// See `sapwood.h`.
///
/// # Safety
/// `ranges` is null or points to `count` ranges, each with room for its bytes; `message` is null or has room for
/// `message_size` bytes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sapwood_read(
    file: u64,
    ranges: *const Range,
    count: usize,
    seconds: f64,
    message: *mut c_char,
    message_size: usize,
) -> i32 {
    let (code, text) = outcome(|| {
        // SAFETY: the caller promises `count` ranges, which stay as they are during the call.
        let ranges = unsafe { ranges_at(ranges, count)? };
        let answers = read(file, ranges, seconds)?;
        for (range, bytes) in ranges.iter().zip(&answers) {
            // SAFETY: there are exactly `length` bytes (`RawFile::read`), and the caller promises room for as many at
            // `into`, which is not null unless there are none (`ranges_at`). This library owns the answers, so that the
            // room cannot overlap them.
            unsafe { copy_nonoverlapping(bytes.as_ptr(), range.into.cast(), bytes.len()) };
        }
        Ok(())
    });
    // SAFETY: the caller promises the room.
    unsafe { write_message(&text, message, message_size) };
    code
}

/// See `sapwood.h`.
///
/// # Safety
/// `into` is null or has room for `size` bytes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sapwood_report(file: u64, into: *mut c_char, size: usize) -> usize {
    let Some(Ok(text)) = guarded(|| find(file).map(|open| Report::of(&open).json(&open, false).to_string()))
    else {
        return 0;
    };
    if text.len() < size {
        // SAFETY: the caller promises the room.
        unsafe { write_message(&text, into, size) };
    }
    text.len()
}

/// See `sapwood.h`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn sapwood_close(file: u64) -> i32 {
    outcome(|| forget(file).map(|open| monitoring::export(&open))).0
}

fn open(url: &str, options: &str, seconds: f64) -> Result<u64> {
    let options = Options::of(options)?;
    let opened = SystemTime::now();
    timed(seconds, options.deadline, |call| {
        let (url, open) = options.for_file(url, call.deadline());
        let file = RawFile::open(&url, &open, call).map_err(|error| open.source.counters.explain(error))?;
        let structure = structure::structure(&file, call)?;
        let unique_id = random_bytes::<16>().iter().map(|byte| format!("{byte:02X}")).collect();
        Ok(keep(OpenFile { file, structure, deadline: options.deadline, opened, unique_id }))
    })
}

fn read(file: u64, ranges: &[Range], seconds: f64) -> Result<Vec<bytes::Bytes>> {
    let open = find(file)?;
    let wanted: Vec<_> =
        ranges.iter().map(|range| ByteRange::new(range.offset, range.length)).collect::<Result<_>>()?;
    timed(seconds, open.deadline, |call| structure::read(&open.file, &open.structure, &wanted, call))
}

/// The text at a pointer; `None` if it is null.
///
/// # Safety
/// `text` is null, or ends with a zero and stays as it is for `'a`.
unsafe fn text_at<'a>(text: *const c_char, what: &str) -> Result<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: it is not null, and the caller promises the rest.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|_| refused(format!("the {what} is not UTF-8")))
}

/// The ranges at a pointer, none of which has bytes but no room.
///
/// # Safety
/// `ranges` is null, or points to `count` ranges that stay as they are for `'a`.
unsafe fn ranges_at<'a>(ranges: *const Range, count: usize) -> Result<&'a [Range]> {
    if count == 0 {
        return Ok(&[]);
    }
    let most = isize::MAX.unsigned_abs();
    if ranges.is_null() || !ranges.is_aligned() || count > most / size_of::<Range>() {
        return Err(refused(format!("there is no valid list of {count} ranges")));
    }
    // SAFETY: it is neither null nor unaligned nor too long, and the caller promises the rest.
    let ranges = unsafe { slice::from_raw_parts(ranges, count) };
    let total = ranges.iter().try_fold(0_usize, |total, range| {
        let length =
            usize::try_from(range.length).ok().filter(|&length| length == 0 || !range.into.is_null())?;
        total.checked_add(length).filter(|&total| total <= most)
    });
    match total {
        Some(_) => Ok(ranges),
        None => {
            Err(refused("a range has no room for its bytes, or all ranges have more bytes than memory has"))
        }
    }
}

/// Writes as much of a text as there is room for, and a zero.
///
/// # Safety
/// `into` is null or has room for `size` bytes.
unsafe fn write_message(text: &str, into: *mut c_char, size: usize) {
    let Some(room) = size.checked_sub(1).filter(|_| !into.is_null()) else { return };
    // At most three bytes before the end of the room, there is the start of a character.
    let length = (0..=room.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or_default();
    // SAFETY: there is room for `size` bytes, which is more than `length`; the text is not in memory of the caller.
    unsafe {
        copy_nonoverlapping(text.as_ptr(), into.cast(), length);
        into.add(length).write(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::OK;
    use std::ffi::CString;
    use std::io::Write;
    use std::ptr::{null, null_mut};

    const NOT_FOUND: i32 = 1;
    const USAGE: i32 = 3;
    const CLOSED: i32 = 16;

    fn opened(url: &str, options: &str) -> (i32, u64, String) {
        let (url, options) = (CString::new(url).unwrap(), CString::new(options).unwrap());
        let (mut file, mut message) = (7, [1 as c_char; 200]);
        // SAFETY: texts end with a zero, and there is room.
        let code = unsafe {
            sapwood_open(url.as_ptr(), options.as_ptr(), 10.0, &mut file, message.as_mut_ptr(), message.len())
        };
        // SAFETY: the message ends with a zero.
        (code, file, unsafe { CStr::from_ptr(message.as_ptr()) }.to_str().unwrap().to_owned())
    }

    fn reading(file: u64, ranges: &[Range]) -> i32 {
        // SAFETY: there are as many ranges as said, with room.
        unsafe { sapwood_read(file, ranges.as_ptr(), ranges.len(), 0.0, null_mut(), 0) }
    }

    fn sample() -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"0123456789").unwrap();
        file
    }

    #[test]
    fn a_file_is_opened_read_reported_and_closed() {
        let sample = sample();
        let (code, file, message) = opened(&format!("sapwood:{}", sample.path().display()), "deadline=5");
        assert_eq!((code, message.as_str()), (OK, ""));
        assert_eq!(sapwood_size(file), 10);
        let (mut one, mut other) = ([0_u8; 3], [0_u8; 2]);
        let ranges = [
            Range { offset: 7, length: 3, into: one.as_mut_ptr().cast() },
            Range { offset: 3, length: 0, into: null_mut() },
            Range { offset: 0, length: 2, into: other.as_mut_ptr().cast() },
        ];
        assert_eq!(reading(file, &ranges), OK);
        assert_eq!((&one, &other), (b"789", b"01"));
        // SAFETY: null is allowed.
        let length = unsafe { sapwood_report(file, null_mut(), 0) };
        // The seconds in it grow, and with them perhaps their digits.
        let mut text = vec![0_u8; length + 100];
        // SAFETY: there is room.
        let length = unsafe { sapwood_report(file, text.as_mut_ptr().cast(), text.len()) };
        assert!(length < text.len());
        let report: serde_json::Value = serde_json::from_slice(&text[..length]).unwrap();
        // Opening has read the head of the file, which is all of this one.
        assert_eq!(report["wanted_bytes"], 10);
        assert_eq!(sapwood_close(file), OK);
        assert_eq!(
            (sapwood_close(file), reading(file, &ranges), sapwood_size(file)),
            (CLOSED, CLOSED, u64::MAX)
        );
    }

    #[test]
    fn failures_have_codes_and_messages() {
        let (code, file, message) = opened("/nowhere/f.root", "");
        assert_eq!((code, file), (NOT_FOUND, 0));
        assert!(message.contains("/nowhere/f.root"), "{message}");
        let (code, file, message) = opened("https://me:secret@h/f.root", "deadline=secret");
        assert_eq!((code, file), (USAGE, 0));
        assert!(message.contains("deadline") && !message.contains("secret"), "{message}");
    }

    #[test]
    fn invalid_arguments_are_refused() {
        let sample = sample();
        let url = CString::new(sample.path().to_str().unwrap()).unwrap();
        let mut file = 0;
        // SAFETY: null is allowed everywhere.
        unsafe {
            assert_eq!(sapwood_open(null(), null(), 0.0, &mut file, null_mut(), 9), USAGE);
            assert_eq!(sapwood_open(url.as_ptr(), null(), 0.0, null_mut(), null_mut(), 0), USAGE);
            assert_eq!(sapwood_open(url.as_ptr(), null(), f64::NAN, &mut file, null_mut(), 0), USAGE);
            assert_eq!(sapwood_open(c"\xff".as_ptr(), null(), 0.0, &mut file, null_mut(), 0), USAGE);
            assert_eq!(sapwood_open(url.as_ptr(), null(), 0.0, &mut file, null_mut(), 0), OK);
            assert_eq!(sapwood_read(file, null(), 1, 0.0, null_mut(), 0), USAGE);
            assert_eq!(sapwood_read(file, null(), 0, 0.0, null_mut(), 0), OK);
            assert_eq!(sapwood_read(file, null(), 0, -1.0, null_mut(), 0), USAGE);
        }
        let mut room = [0_u8; 1];
        let into = room.as_mut_ptr().cast();
        for (offset, length, into) in
            [(0, 1, null_mut()), (10, 1, into), (u64::MAX, 1, into), (0, u64::MAX, into)]
        {
            assert_ne!(reading(file, &[Range { offset, length, into }]), OK, "{offset} {length}");
        }
        assert_eq!(room, [0]);
        assert_eq!(sapwood_close(file), OK);
    }

    #[test]
    fn messages_are_cut_between_characters() {
        let mut room = [1 as c_char; 4];
        // SAFETY: there is room for as many bytes as said.
        unsafe { write_message("aéé", room.as_mut_ptr(), 4) };
        assert_eq!(room.map(|byte| byte as u8), *b"a\xc3\xa9\0");
        // SAFETY: as above.
        unsafe { write_message("x", room.as_mut_ptr(), 1) };
        assert_eq!(room[0], 0);
    }
}
