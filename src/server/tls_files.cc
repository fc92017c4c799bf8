#include "server/tls_files.h"

#include <chrono>
#include <utility>

#include <sys/stat.h>

namespace sluice::server {
namespace {

std::int64_t NanosOf(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

}  // namespace

TlsFiles::TlsFiles(std::string section, net::TlsServerOptions options)
    : section_(std::move(section)), options_(std::move(options)) {}

Result<bool> TlsFiles::Load(WallTime now) {
  // Before they are read: what changes meanwhile is read again.
  read_ = seen_ = Look();
  const bool again = context_ != nullptr;
  auto context = net::TlsContext::Load(options_, now);
  if (again) (context ? good_ : failed_).Add();
  if (!context) return Error{context.error().code, section_ + "." + context.error().message};
  context_ = *std::move(context);
  expires_.Set(
      std::chrono::floor<std::chrono::seconds>(context_->expires()).time_since_epoch().count());
  return true;
}

bool TlsFiles::HaveChanged() {
  const Stamps before = std::exchange(seen_, Look());
  return seen_ != read_ && seen_ == before;
}

TlsFiles::Stamps TlsFiles::Look() const {
  Stamps stamps;
  const std::array paths{&options_.certificate, &options_.key, &options_.client_ca};
  for (std::size_t i = 0; i < paths.size(); ++i) {
    struct stat file{};
    if (paths[i]->empty() || stat(paths[i]->c_str(), &file) != 0) continue;
    stamps[i] = {.device = file.st_dev,
                 .inode = file.st_ino,
                 .size = file.st_size,
                 .modified = NanosOf(file.st_mtim),
                 .changed = NanosOf(file.st_ctim)};
  }
  return stamps;
}

net::TlsServerOptions TlsOptionsOf(const TlsSettings& settings, std::string_view protocol,
                                   std::string_view plain_answer) {
  net::TlsServerOptions options{.certificate = settings.certificate,
                                .key = settings.key,
                                .client_ca = settings.client_ca,
                                .plain_answer = std::string(plain_answer)};
  if (settings.minimum_version == "1.3") options.minimum = net::TlsVersion::k13;
  if (settings.client_certificates == "optional") {
    options.client_certificates = net::ClientCertificates::kOptional;
  } else if (settings.client_certificates == "required") {
    options.client_certificates = net::ClientCertificates::kRequired;
  }
  if (!protocol.empty()) options.alpn.emplace_back(protocol);
  return options;
}

}  // namespace sluice::server
