//! Writes small files byte by byte, for tests that need a certain structure.

/// Something in a directory.
pub(crate) enum Item {
    Directory(&'static str, Vec<Item>),
    /// Class, name, cycle, payload.
    Object(&'static str, &'static str, u16, Vec<u8>),
    /// A key that names the directory at an offset, which may be anything.
    Link(&'static str, u32),
}

/// Offset of the root directory.
pub(crate) const BEGIN: u32 = 100;
/// Bytes of a directory's fields.
const FIELDS: usize = 60;

/// A file with these items, and with `streamers` as the payload of its streamer information if there is any.
pub(crate) fn file(items: &[Item], streamers: Option<&[u8]>) -> Vec<u8> {
    let mut bytes = vec![0; BEGIN as usize];
    let names = b"\x06f.root\x00";
    bytes.extend(key(BEGIN, 0, "TFile", "f.root", 1, names.len() + FIELDS));
    bytes.extend(names);
    let nbytes_name = bytes.len() - BEGIN as usize;
    bytes.extend([0; FIELDS]);
    fill(&mut bytes, BEGIN, nbytes_name, items);
    let mut info = (0, 0);
    if let Some(payload) = streamers {
        info.0 = offset(&bytes);
        bytes.extend(key(info.0, BEGIN, "TList", "StreamerInfo", 1, payload.len()));
        bytes.extend(payload);
        info.1 = offset(&bytes) - info.0;
    }
    let free = offset(&bytes);
    bytes.extend(key(free, BEGIN, "TFile", "f.root", 1, 10));
    let end = offset(&bytes) + 10;
    bytes.extend([&[0, 1][..], &end.to_be_bytes(), &2_000_000_000_u32.to_be_bytes()].concat());

    let nbytes_name = u32::try_from(nbytes_name).unwrap();
    let mut header = b"root".to_vec();
    for word in [64_004, BEGIN, end, free, end - free, 1, nbytes_name] {
        header.extend(word.to_be_bytes());
    }
    header.push(4);
    for word in [0, info.0, info.1] {
        header.extend(word.to_be_bytes());
    }
    bytes[..header.len()].copy_from_slice(&header);
    bytes
}

/// Writes what a directory holds, and the directory's fields, which lie `fields_at` behind its offset.
fn fill(bytes: &mut Vec<u8>, directory: u32, fields_at: usize, items: &[Item]) {
    let mut keys = Vec::new();
    for item in items {
        let at = offset(bytes);
        match item {
            Item::Object(class_name, name, cycle, payload) => {
                let key = key(at, directory, class_name, name, *cycle, payload.len());
                bytes.extend(&key);
                bytes.extend(payload);
                keys.push(key);
            }
            Item::Link(name, to) => keys.push(key(*to, directory, "TDirectory", name, 1, FIELDS)),
            Item::Directory(name, items) => {
                let key = key(at, directory, "TDirectory", name, 1, FIELDS);
                bytes.extend(&key);
                bytes.extend([0; FIELDS]);
                fill(bytes, at, key.len(), items);
                keys.push(key);
            }
        }
    }
    let list = offset(bytes);
    let len = 4 + keys.iter().map(Vec::len).sum::<usize>();
    bytes.extend(key(list, directory, "TDirectory", "", 1, len));
    bytes.extend(u32::try_from(keys.len()).unwrap().to_be_bytes());
    bytes.extend(keys.concat());

    let mut fields = vec![0, 5];
    fields.extend([0; 8]);
    for word in [offset(bytes) - list, u32::try_from(fields_at).unwrap(), directory, 0, list] {
        fields.extend(word.to_be_bytes());
    }
    fields.extend([0, 1]);
    fields.extend([7; 16]);
    let at = directory as usize + fields_at;
    bytes[at..at + fields.len()].copy_from_slice(&fields);
}

fn key(at: u32, parent: u32, class_name: &str, name: &str, cycle: u16, payload: usize) -> Vec<u8> {
    let strings: Vec<u8> = [class_name, name, ""]
        .iter()
        .flat_map(|s| std::iter::once(u8::try_from(s.len()).unwrap()).chain(s.bytes()))
        .collect();
    let key_len = 26 + strings.len();
    let mut bytes = Vec::new();
    bytes.extend(u32::try_from(key_len + payload).unwrap().to_be_bytes());
    bytes.extend([0, 4]);
    bytes.extend(u32::try_from(payload).unwrap().to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(u16::try_from(key_len).unwrap().to_be_bytes());
    bytes.extend(cycle.to_be_bytes());
    bytes.extend(at.to_be_bytes());
    bytes.extend(parent.to_be_bytes());
    bytes.extend(strings);
    bytes
}

fn offset(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap()
}
