#include "net/testing/certificates.h"

#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace sluice::net::testing {
namespace {

std::filesystem::path NewFolder() {
  std::string name = std::filesystem::temp_directory_path() / "sluice-tls-XXXXXX";
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  return name;
}

void AddName(X509_NAME* name, const char* field, const std::string& value) {
  if (value.empty()) return;
  EXPECT_EQ(X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                       reinterpret_cast<const unsigned char*>(value.data()),
                                       static_cast<int>(value.size()), -1, 0),
            1);
}

// A certificate without an issuer is self-signed, and an authority.
X509* Sign(const CertificateOptions& options, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key) {
  static long number = 0;
  X509* const certificate = X509_new();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++number);
  X509_gmtime_adj(X509_getm_notBefore(certificate), options.begins_in_seconds);
  X509_gmtime_adj(X509_getm_notAfter(certificate), options.ends_in_seconds);
  X509_NAME* const name = X509_get_subject_name(certificate);
  AddName(name, "O", options.organization);
  AddName(name, "CN", options.common_name);
  X509_set_issuer_name(certificate, issuer == nullptr ? name : X509_get_subject_name(issuer));
  X509_set_pubkey(certificate, key);
  if (issuer == nullptr) {
    X509_EXTENSION* const is_authority =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE");
    X509_add_ext(certificate, is_authority, -1);
    X509_EXTENSION_free(is_authority);
  }
  EXPECT_GT(X509_sign(certificate, issuer_key, EVP_sha256()), 0);
  return certificate;
}

template <typename Write>
void WriteFile(const std::string& path, const Write& write) {
  FILE* const file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr) << path;
  EXPECT_EQ(write(file), 1) << path;
  std::fclose(file);
}

void WriteCertificate(const std::string& path, X509* certificate) {
  WriteFile(path, [&](FILE* file) { return PEM_write_X509(file, certificate); });
}

}  // namespace

Authority::Authority(const std::string& name)
    : folder_(NewFolder()),
      key_(EVP_EC_gen("P-256")),
      certificate_(Sign({.common_name = name}, key_, nullptr, key_)) {
  WriteCertificate(certificate(), certificate_);
}

Authority::~Authority() {
  X509_free(certificate_);
  EVP_PKEY_free(key_);
  std::filesystem::remove_all(folder_);
}

CertificateFiles Authority::Issue(const std::string& name, const CertificateOptions& options) {
  const CertificateFiles files{.certificate = File(name + ".pem"), .key = File(name + ".key")};
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = Sign(options, key, certificate_, key_);
  WriteCertificate(files.certificate, certificate);
  WriteFile(files.key, [&](FILE* file) {
    const std::string& phrase = options.passphrase;
    return PEM_write_PrivateKey(file, key, phrase.empty() ? nullptr : EVP_aes_128_cbc(),
                                reinterpret_cast<const unsigned char*>(phrase.data()),
                                static_cast<int>(phrase.size()), nullptr, nullptr);
  });
  X509_free(certificate);
  EVP_PKEY_free(key);
  return files;
}

void SslDeleter::operator()(SSL* ssl) const { SSL_free(ssl); }

SslPointer NewTlsClient(const TlsClientOptions& options) {
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  // So that versions and ciphers of old can be offered.
  SSL_CTX_set_security_level(context, 0);
  SSL_CTX_set_min_proto_version(context, options.version);
  SSL_CTX_set_max_proto_version(context, options.version);
  if (!options.ca.empty()) {
    EXPECT_EQ(SSL_CTX_load_verify_file(context, options.ca.c_str()), 1);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  }
  if (!options.identity.certificate.empty()) {
    EXPECT_EQ(SSL_CTX_use_certificate_chain_file(context, options.identity.certificate.c_str()), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context, options.identity.key.c_str(), SSL_FILETYPE_PEM),
              1);
  }
  if (!options.alpn.empty()) {
    const std::string wire = static_cast<char>(options.alpn.size()) + options.alpn;
    SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(wire.data()),
                            static_cast<unsigned>(wire.size()));
  }
  SslPointer client(SSL_new(context));
  SSL_CTX_free(context);
  SSL_set_connect_state(client.get());
  if (options.session != nullptr) SSL_set_session(client.get(), options.session);
  return client;
}

}  // namespace sluice::net::testing
