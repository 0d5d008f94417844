#include "runtime/store/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/error.h"

namespace penstock::runtime {
namespace {

std::string digest(const EVP_MD* kind, std::span<const std::byte> bytes) {
  std::string out(EVP_MAX_MD_SIZE, '\0');
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(out.data()), &size,
                 kind, nullptr) != 1)
    throw Error("OpenSSL can't compute a digest that uploads need: does this system forbid MD5?");
  out.resize(size);
  return out;
}

}  // namespace

std::string sha256_hex(std::span<const std::byte> bytes) {
  return to_hex(digest(EVP_sha256(), bytes));
}

std::string md5(std::span<const std::byte> bytes) { return digest(EVP_md5(), bytes); }

std::string to_hex(std::string_view bytes) {
  std::string out;
  for (const unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

std::string to_base64(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // EVP_EncodeBlock() adds a zero
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  out.pop_back();
  return out;
}

}  // namespace penstock::runtime
