// libXrdCl as the C functions of shim.h. Compiles with the headers of XRootD 5 and 6.

#include "shim.h"

#include <XrdCl/XrdClDefaultEnv.hh>
#include <XrdCl/XrdClFile.hh>
#include <XrdCl/XrdClFileSystem.hh>
#include <XrdCl/XrdClURL.hh>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>

namespace {

using XrdCl::XRootDStatus;

// Text that a server sent may hold a zero byte, which would end a C string.
std::string without_zeros(std::string text) {
  for (char &c : text)
    if (c == '\0') c = '\n';
  return text;
}

swx_result result_of(const XRootDStatus &status, const std::string &text) {
  return {status.status, status.code, status.errNo, 0, 0, text.c_str()};
}

// Passes one answer on. XrdCl calls the handler at most once, and never calls it where a call fails at once.
class Completion : public XrdCl::ResponseHandler {
public:
  Completion(swx_done done, void *context, XrdCl::FileSystem *owned = nullptr)
      : done_(done), context_(context), owned_(owned) {}

  void HandleResponse(XRootDStatus *status, XrdCl::AnyObject *response) override {
    std::unique_ptr<XRootDStatus> owned_status(status);
    std::unique_ptr<XrdCl::AnyObject> owned_response(response);
    std::unique_ptr<Completion> self(this);
    try {
      answer(*status, response);
    } catch (...) {
      fail();
    }
  }

  // Completes by hand, unless it is completed. Does not delete: XrdCl may still know the handler.
  void complete(const swx_result &result) noexcept {
    if (!completed_.exchange(true)) done_(context_, &result);
  }

  void fail() noexcept { complete({XrdCl::stError, XrdCl::errInternal, 0, 0, 0, "out of memory in XrdCl"}); }

private:
  void answer(const XRootDStatus &status, XrdCl::AnyObject *response) {
    std::string text = status.IsOK() ? std::string() : without_zeros(status.ToStr());
    swx_result result = result_of(status, text);
    XrdCl::VectorReadInfo *read = nullptr;
    XrdCl::StatInfo *stat = nullptr;
    XrdCl::ProtocolInfo *protocol = nullptr;
    XrdCl::Buffer *buffer = nullptr;
    if (status.IsOK() && response) {
      response->Get(read);
      if (!read) response->Get(stat);
      if (!read && !stat) response->Get(protocol);
      if (!read && !stat && !protocol) response->Get(buffer);
    }
    if (read) result.value = read->GetSize();
    if (stat) {
      result.value = stat->GetSize();
      result.modified = stat->GetModTime();
    }
    if (protocol) {
      // Some XrdCl leave both in the order of the network; versions are small numbers.
      bool swapped = protocol->GetVersion() >= 1u << 24;
      result.value = swapped ? __builtin_bswap32(protocol->GetHostInfo()) : protocol->GetHostInfo();
    }
    if (buffer) {
      text = without_zeros(buffer->ToString());
      result.text = text.c_str();
    }
    complete(result);
  }

  swx_done done_;
  void *context_;
  std::unique_ptr<XrdCl::FileSystem> owned_;
  std::atomic<bool> completed_{false};
};

// Starts an operation; where XrdCl will not call the handler, completes by hand.
template <typename Start> void run(Completion *completion, Start start) noexcept {
  if (!completion) return;
  try {
    XRootDStatus status = start(completion);
    // Closing what is closed is "OK", but nobody is called.
    if (status.IsOK() && status.code != XrdCl::suAlreadyDone) return;
    std::string text = status.IsOK() ? std::string() : without_zeros(status.ToStr());
    completion->complete(result_of(status, text));
    delete completion;
  } catch (...) {
    // Whether XrdCl knows the handler is not known: it is not deleted.
    completion->fail();
  }
}

// The handler of an operation, or a failure reported and null.
Completion *handler(swx_done done, void *context) noexcept {
  auto *completion = new (std::nothrow) Completion(done, context);
  if (!completion) {
    swx_result result{XrdCl::stError, XrdCl::errInternal, 0, 0, 0, "out of memory"};
    done(context, &result);
  }
  return completion;
}

XrdCl::File *file_of(void *file) { return static_cast<XrdCl::File *>(file); }

// Asks the server of a URL: `start` gets the file system of it and the handler.
template <typename Start> void ask(const char *url, swx_done done, void *context, Start start) noexcept {
  XrdCl::FileSystem *files = nullptr;
  Completion *completion = nullptr;
  try {
    auto owned = std::make_unique<XrdCl::FileSystem>(XrdCl::URL(url), false);
    files = owned.get();
    completion = new Completion(done, context, files);
    owned.release();
  } catch (...) {
    swx_result result{XrdCl::stError, XrdCl::errInternal, 0, 0, 0, "out of memory"};
    done(context, &result);
    return;
  }
  run(completion, [&](Completion *completion) { return start(*files, completion); });
}

void query(const char *url, XrdCl::QueryCode::Code code, const char *text, uint16_t seconds, swx_done done,
           void *context) {
  ask(url, done, context, [=](XrdCl::FileSystem &files, Completion *completion) {
    XrdCl::Buffer argument;
    argument.FromString(text);
    return files.Query(code, argument, completion, seconds);
  });
}

std::string places(const XrdCl::URL &url, uint16_t seconds, XRootDStatus &status) {
  XrdCl::FileSystem files(url, false);
  XrdCl::LocationInfo *raw = nullptr;
  status = files.DeepLocate(url.GetPathWithParams(), XrdCl::OpenFlags::PrefName, raw, seconds);
  std::unique_ptr<XrdCl::LocationInfo> found(raw);
  std::string lines;
  if (!status.IsOK() || !found) return lines;
  for (auto place = found->Begin(); place != found->End(); ++place)
    if (place->GetType() == XrdCl::LocationInfo::ServerOnline) lines += place->GetAddress() + "\n";
  return lines;
}

// Completes with the lines that `find` makes of a URL, which blocks.
template <typename Find>
void lines_of(const char *url, uint16_t seconds, swx_done done, void *context, Find find) noexcept {
  try {
    XRootDStatus status;
    std::string lines = find(XrdCl::URL(url), seconds, status);
    std::string text = status.IsOK() ? lines : without_zeros(status.ToStr());
    swx_result result = result_of(status, text);
    done(context, &result);
  } catch (...) {
    swx_result result{XrdCl::stError, XrdCl::errInternal, 0, 0, 0, "out of memory"};
    done(context, &result);
  }
}

std::string listing(const XrdCl::URL &url, uint16_t seconds, XRootDStatus &status) {
  XrdCl::FileSystem files(url, false);
  XrdCl::DirectoryList *raw = nullptr;
  auto flags = XrdCl::DirListFlags::Stat | XrdCl::DirListFlags::Locate | XrdCl::DirListFlags::Merge;
  status = files.DirList(url.GetPathWithParams(), flags, raw, seconds);
  std::unique_ptr<XrdCl::DirectoryList> list(raw);
  std::string lines;
  if (!status.IsOK() || !list) return lines;
  for (auto entry = list->Begin(); entry != list->End(); ++entry) {
    const XrdCl::StatInfo *stat = (*entry)->GetStatInfo();
    lines += (*entry)->GetName();
    lines += stat && stat->TestFlags(XrdCl::StatInfo::IsDir) ? "/\n" : "\n";
  }
  return lines;
}

} // namespace

extern "C" {

int swx_abi(void) { return SWX_ABI; }

int swx_get_int(const char *key, int *value) {
  try {
    return XrdCl::DefaultEnv::GetEnv()->GetInt(key, *value);
  } catch (...) {
    return 0;
  }
}

int swx_set_int(const char *key, int value) {
  try {
    return XrdCl::DefaultEnv::GetEnv()->PutInt(key, value);
  } catch (...) {
    return 0;
  }
}

int swx_set_string(const char *key, const char *value) {
  try {
    return XrdCl::DefaultEnv::GetEnv()->PutString(key, value);
  } catch (...) {
    return 0;
  }
}

void *swx_new(void) {
  try {
    // Without client plug-ins: a configuration of the site could put another transport in its place, unseen.
    auto file = std::make_unique<XrdCl::File>(false);
    // Lost connections are the caller's to recover from: he knows the deadline, and the version of the file.
    file->SetProperty("ReadRecovery", "false");
    return file.release();
  } catch (...) {
    return nullptr;
  }
}

void swx_free(void *file) {
  try {
    delete file_of(file);
  } catch (...) {
  }
}

void swx_open(void *file, const char *url, uint16_t seconds, swx_done done, void *context) {
  run(handler(done, context), [=](Completion *completion) {
    return file_of(file)->Open(url, XrdCl::OpenFlags::Read, XrdCl::Access::None, completion, seconds);
  });
}

void swx_stat(void *file, int fresh, uint16_t seconds, swx_done done, void *context) {
  run(handler(done, context),
      [=](Completion *completion) { return file_of(file)->Stat(fresh != 0, completion, seconds); });
}

void swx_vector_read(void *file, const swx_chunk *chunks, size_t count, uint16_t seconds, swx_done done,
                     void *context) {
  run(handler(done, context), [=](Completion *completion) {
    XrdCl::ChunkList list;
    list.reserve(count);
    for (size_t i = 0; i < count; ++i) list.emplace_back(chunks[i].offset, chunks[i].length, chunks[i].into);
    return file_of(file)->VectorRead(list, nullptr, completion, seconds);
  });
}

void swx_close(void *file, uint16_t seconds, swx_done done, void *context) {
  run(handler(done, context), [=](Completion *completion) { return file_of(file)->Close(completion, seconds); });
}

size_t swx_property(void *file, const char *name, char *out, size_t size) {
  try {
    std::string value;
    if (!file_of(file)->GetProperty(name, value)) return 0;
    if (value.size() < size) std::memcpy(out, value.data(), value.size());
    return value.size();
  } catch (...) {
    return 0;
  }
}

void swx_query_config(const char *url, const char *names, uint16_t seconds, swx_done done, void *context) {
  query(url, XrdCl::QueryCode::Config, names, seconds, done, context);
}

void swx_query_stats(const char *url, const char *which, uint16_t seconds, swx_done done, void *context) {
  query(url, XrdCl::QueryCode::Stats, which, seconds, done, context);
}

void swx_query_checksum(const char *url, uint16_t seconds, swx_done done, void *context) {
  try {
    query(url, XrdCl::QueryCode::Checksum, XrdCl::URL(url).GetPathWithParams().c_str(), seconds, done, context);
  } catch (...) {
    swx_result result{XrdCl::stError, XrdCl::errInternal, 0, 0, 0, "out of memory"};
    done(context, &result);
  }
}

void swx_role(const char *url, uint16_t seconds, swx_done done, void *context) {
  ask(url, done, context, [=](XrdCl::FileSystem &files, Completion *completion) {
    return files.Protocol(completion, seconds);
  });
}

void swx_locate(const char *url, uint16_t seconds, swx_done done, void *context) {
  lines_of(url, seconds, done, context, places);
}

void swx_list(const char *url, uint16_t seconds, swx_done done, void *context) {
  lines_of(url, seconds, done, context, listing);
}

} // extern "C"
