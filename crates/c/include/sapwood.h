// The C ABI of sapwood: reads byte ranges of any file that it can reach (https, root, s3, …), from several replicas.
//
// All functions may be called by any thread at any time; each blocks until it is done, fails, or passes its deadline.
// None of them throws. Do not use files in a child of fork() that its parent opened.
//
// Failures: a function that can fail returns one of the codes below, and describes the failure in `message`: one line
// without secrets, cut to `message_size` bytes with the final zero. `message` may be null; on success it is empty.
//
// Deadlines: `seconds` is the time that a call may take; 0 stands for the option `deadline`, and without that for an hour.

#ifndef SAPWOOD_H
#define SAPWOOD_H

#include <stddef.h>
#include <stdint.h>

// Raised with every incompatible change of this file; compare it with sapwood_abi().
#define SAPWOOD_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

// What happened. Codes keep their numbers; later versions may add some.
enum sapwood_code {
  SAPWOOD_OK = 0,
  SAPWOOD_NOT_FOUND = 1,       // the file does not exist
  SAPWOOD_PERMISSION = 2,      // it may not be read with these credentials
  SAPWOOD_USAGE = 3,           // an argument or an option is invalid
  SAPWOOD_NOT_ROOT = 4,        // the bytes are not a ROOT file
  SAPWOOD_CORRUPT = 5,         // the bytes break a rule of a format
  SAPWOOD_TRUNCATED = 6,       // the file ends too early
  SAPWOOD_CHECKSUM = 7,        // a checksum does not match
  SAPWOOD_CHANGED = 8,         // the file changed while it was open
  SAPWOOD_UNSUPPORTED = 9,     // sapwood cannot do this, or not here
  SAPWOOD_MISSING = 10,        // the file has no such object
  SAPWOOD_TIMEOUT = 11,        // the deadline passed
  SAPWOOD_NETWORK = 12,        // the connection failed
  SAPWOOD_SERVER = 13,         // the server answered with an error
  SAPWOOD_IO = 14,             // the operating system refused to read
  SAPWOOD_LIMIT = 15,          // this would take more memory than allowed
  SAPWOOD_CLOSED = 16,         // the file is not open (any more)
  SAPWOOD_CANCELLED = 17,      // the read was interrupted
  SAPWOOD_CONFLICT = 18,       // another writer was first
  SAPWOOD_COMMIT_UNKNOWN = 19, // it is unknown whether a change was made
  SAPWOOD_DEFECT = 100         // sapwood itself failed: please report it
};

// An open file; never 0. After sapwood_close, its number is not used again.
typedef uint64_t sapwood_file;

// A piece of a file, and where its bytes go.
struct sapwood_range {
  uint64_t offset;
  uint64_t length; // may be 0
  void *into;      // room for `length` bytes
};

// The SAPWOOD_ABI that the library was built with.
uint32_t sapwood_abi(void);

// Opens a file for reading, and sets `file`; on failure, to 0.
//
// `url` is a path or URL, or several of the same file with "::" between them: "https://a/f.root::root://b//f.root". It
// may begin with "sapwood:" or "https://sapwood/". `options` has options NAME=VALUE, separated by spaces; null for
// none. Those in the environment variable SAPWOOD_OPTIONS come before them. docs/guides/root-plugin.md lists the
// options.
int32_t sapwood_open(const char *url, const char *options, double seconds, sapwood_file *file, char *message,
                     size_t message_size);

// The size in bytes; UINT64_MAX if the file is not open.
uint64_t sapwood_size(sapwood_file file);

// Reads all ranges together, in as few requests as the server allows. All of them are read, or none is reported as read:
// on failure, what is in their memory is undefined. They may overlap in the file, in any order.
int32_t sapwood_read(sapwood_file file, const struct sapwood_range *ranges, size_t count, double seconds,
                     char *message, size_t message_size);

// What was read so far and from where, as one line of JSON, with a final zero. Returns its length; copies nothing unless
// that is below `size`. 0 if the file is not open.
size_t sapwood_report(sapwood_file file, char *into, size_t size);

// Closes a file. Reads of other threads that are under way finish.
int32_t sapwood_close(sapwood_file file);

#ifdef __cplusplus
}
#endif

#endif
