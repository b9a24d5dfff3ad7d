//! Questions about a URL that XrdCl may block on, such as what a directory holds.
#![expect(unsafe_code, reason = "functions of a shared library")]

use super::call::{Done, begin, end, seconds};
use super::contact::library_for;
use super::library::Library;
use super::status::{Status, advise};
use sapwood_core::{Deadline, Error, ErrorKind, Result};
use std::ffi::{CString, c_char, c_void};

/// A function of the shim that asks about a URL.
type Query = unsafe extern "C" fn(*const c_char, u16, Done, *mut c_void);

/// The text of the answer; `late` is the message if the deadline passes first.
pub(super) async fn query(
    url: &str,
    deadline: Deadline,
    late: &str,
    function: fn(&Library) -> Query,
) -> Result<String> {
    let answer = async {
        let library = library_for(url, deadline).await?;
        let place = CString::new(url).map_err(|_| Error::usage("the URL holds a zero byte"))?;
        let begun = tokio::task::spawn_blocking(move || {
            begin((), |done, context| {
                // SAFETY: the URL is a C string.
                unsafe { function(library)(place.as_ptr(), seconds(deadline), done, context) };
            })
        });
        let reply = match begun.await {
            Ok(receiver) => end(receiver).await,
            Err(_) => Err(Status::unanswered()),
        };
        reply.map_err(|status| status.error())
    };
    let answer = tokio::time::timeout_at(deadline.instant().into(), answer).await;
    let answer = answer.unwrap_or_else(|_| Err(Error::new(ErrorKind::Timeout, late)));
    answer.map(|answer| answer.text).map_err(|error| advise(error, url))
}
