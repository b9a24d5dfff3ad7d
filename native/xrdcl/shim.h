// The C ABI over libXrdCl that crates/source/src/xrootd loads at the first root:// URL.
//
// Completion: a function that takes `done` calls it exactly once, on a thread of XrdCl or before it returns.
// `result` and its text are valid during that call only, in which XrdCl must not be called.
// Times `seconds` are XrdCl's own limits, a second net below the deadlines of the caller; 0 is XrdCl's default.
// Strings and the array of chunks are needed during the call only; what chunks point into, until completion.

#pragma once

#include <stddef.h>
#include <stdint.h>

#define SWX_API __attribute__((visibility("default")))

// Raised with every change of this file; the loader compares it before it uses anything else.
#define SWX_ABI 3

#ifdef __cplusplus
extern "C" {
#endif

// A piece of a file, and where its bytes go.
struct swx_chunk {
  uint64_t offset;
  uint32_t length;
  void *into;
};

// What XrdCl answers. `status` 0 is success; then `text` is the answer, else a description of the failure.
struct swx_result {
  uint16_t status;        // XrdCl::Status::status
  uint16_t code;          // XrdCl::Status::code
  uint32_t server_number; // XrdCl::Status::errNo: the server's kXR_ code, or an errno
  uint64_t value;         // bytes: read, or of the file
  uint64_t modified;      // seconds since 1970
  const char *text;       // never null
};

typedef void (*swx_done)(void *context, const struct swx_result *result);

SWX_API int swx_abi(void);

// Settings of the process. Setting fails (0) where the variable XRD_<KEY> of the environment sets it.
SWX_API int swx_get_int(const char *key, int *value);
SWX_API int swx_set_int(const char *key, int value);
SWX_API int swx_set_string(const char *key, const char *value);

// A file, not open yet. It may be freed when it is not open (any more) and nothing is outstanding.
SWX_API void *swx_new(void);
SWX_API void swx_free(void *file);

// Opens for reading. May look up a host's address before it returns.
SWX_API void swx_open(void *file, const char *url, uint16_t seconds, swx_done done, void *context);

// `value` is the size. Without `fresh`, as it was when the file was opened, without asking the server.
SWX_API void swx_stat(void *file, int fresh, uint16_t seconds, swx_done done, void *context);

// Reads all chunks by one request; `value` is the sum of their bytes.
SWX_API void swx_vector_read(void *file, const struct swx_chunk *chunks, size_t count, uint16_t seconds,
                             swx_done done, void *context);

// Closes a file that has no other request outstanding.
SWX_API void swx_close(void *file, uint16_t seconds, swx_done done, void *context);

// A property ("DataServer", "LastURL") into `out`; returns its length, and copies nothing if that is not below `size`.
SWX_API size_t swx_property(void *file, const char *name, char *out, size_t size);

// Asks the server of `url` for settings, separated by blanks; `text` has a line for each.
SWX_API void swx_query_config(const char *url, const char *names, uint16_t seconds, swx_done done, void *context);

// Asks the server of `url` for the part of its statistics that `which` names, as XML in `text`.
SWX_API void swx_query_stats(const char *url, const char *which, uint16_t seconds, swx_done done, void *context);

// Asks the server of `url` for the checksum of the file; `text` has its kind and its value. Servers that do not keep it
// read the file before they answer.
SWX_API void swx_query_checksum(const char *url, uint16_t seconds, swx_done done, void *context);

// Asks the server of `url` what it is: `value` has the flags that it sends for its role (kXR_isServer, …).
SWX_API void swx_role(const char *url, uint16_t seconds, swx_done done, void *context);

// Asks where the file at `url` is; `text` has a line `host:port` for each data server that has it at hand.
// Blocks until the answer is there.
SWX_API void swx_locate(const char *url, uint16_t seconds, swx_done done, void *context);

// Lists a directory on all servers that hold it; `text` has a line for each entry, directories end in '/'.
// Blocks until the answer is there.
SWX_API void swx_list(const char *url, uint16_t seconds, swx_done done, void *context);

#ifdef __cplusplus
}
#endif
