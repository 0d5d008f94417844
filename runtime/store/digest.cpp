#include "runtime/store/digest.h"

#include <fmt/format.h>
#include <nettle/base64.h>
#include <nettle/md5.h>
#include <nettle/sha2.h>

namespace penstock::runtime {
namespace {

const std::uint8_t* octets(const void* bytes) { return static_cast<const std::uint8_t*>(bytes); }
std::uint8_t* octets(std::string& out) { return reinterpret_cast<std::uint8_t*>(out.data()); }

}  // namespace

std::string sha256_hex(std::span<const std::byte> bytes) {
  std::string out(SHA256_DIGEST_SIZE, '\0');
  sha256_ctx context;
  sha256_init(&context);
  sha256_update(&context, bytes.size(), octets(bytes.data()));
  sha256_digest(&context, out.size(), octets(out));
  return to_hex(out);
}

std::string md5(std::span<const std::byte> bytes) {
  std::string out(MD5_DIGEST_SIZE, '\0');
  md5_ctx context;
  md5_init(&context);
  md5_update(&context, bytes.size(), octets(bytes.data()));
  md5_digest(&context, out.size(), octets(out));
  return out;
}

std::string to_hex(std::string_view bytes) {
  std::string out;
  for (const unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

std::string to_base64(std::string_view bytes) {
  std::string out(BASE64_ENCODE_RAW_LENGTH(bytes.size()), '\0');
  base64_encode_raw(out.data(), bytes.size(), octets(bytes.data()));
  return out;
}

}  // namespace penstock::runtime
