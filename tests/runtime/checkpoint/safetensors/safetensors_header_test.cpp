#include "runtime/checkpoint/safetensors/safetensors_header.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace penstock::runtime {
namespace {

struct Case {
  std::string what, header;
  std::uint64_t data_bytes;
};

void parse(const Case& a_case) {
  const std::uint64_t begin = 8 + a_case.header.size();
  (void)parse_safetensors_header(a_case.header, begin, begin + a_case.data_bytes);
}

// One tensor of 16 bytes, with one part replaced.
std::string tensor(const std::string& shape, const std::string& offsets,
                   const std::string& dtype = "\"I32\"") {
  return "{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}
std::string one(const std::string& shape, const std::string& offsets,
                const std::string& dtype = "\"I32\"") {
  return "{\"t\":" + tensor(shape, offsets, dtype) + "}";
}
std::string named(const std::string& name) {
  return "{\"" + name + "\":" + tensor("[4]", "[0,16]") + "}";
}
std::string with(const std::string& first) {
  return "{" + first + ",\"t\":" + tensor("[4]", "[0,16]") + "}";
}

TEST(SafetensorsHeader, TakesWhatIsWellFormed) {
  const Case cases[] = {
      Case{"plain", one("[2,2]", "[0,16]"), 16},
      Case{"empty header", "{}", 0},
      Case{"white space around", " \n" + one("[4]", "[0,16]") + "  ", 16},
      Case{"rank 0", one("[]", "[0,4]"), 4},
      Case{"zero size", one("[3,0,5]", "[0,0]"), 0},
      Case{"zero before a huge size", one("[0,18446744073709551615]", "[0,0]"), 0},
      Case{"many dimensions", one("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]"), 4},
      Case{"unsorted",
           "{\"b\":" + tensor("[2]", "[8,16]") + ",\"a\":" + tensor("[2]", "[0,8]") + "}", 16},
      Case{"zero sizes at both ends",
           "{\"a\":" + tensor("[0]", "[0,0]") + ",\"t\":" + tensor("[4]", "[0,16]") +
               ",\"z\":" + tensor("[0]", "[16,16]") + "}",
           16},
      Case{"misaligned",
           "{\"a\":" + tensor("[1]", "[0,1]", "\"U8\"") + ",\"t\":" + tensor("[4]", "[1,17]") + "}",
           17},
      Case{"half bytes that fill bytes", one("[2,3]", "[0,3]", "\"F4\""), 3},
      Case{"metadata", with(R"("__metadata__":{"a":"b","":"\u0000"})"), 16},
      Case{"metadata null", with(R"("__metadata__":null)"), 16},
      Case{"unknown key in a tensor",
           R"({"t":{"dtype":"I8","shape":[1],"data_offsets":[0,1],"x":{"y":[1.5,{}],"y":-0}}})", 1},
      Case{"escaped name", named(R"(\u00e9\ud83d\ude00)"), 16}};
  for (const Case& a_case : cases) EXPECT_NO_THROW(parse(a_case)) << a_case.what;
}

void expect_rejected(const std::vector<Case>& cases) {
  for (const Case& a_case : cases) EXPECT_THROW(parse(a_case), CheckpointError) << a_case.what;
}

TEST(SafetensorsHeader, RejectsOtherJson) {
  const std::vector<Case> cases{
      Case{"nothing", "", 0},
      Case{"array root", "[]", 0},
      Case{"number root", "1", 0},
      Case{"leading NUL", std::string(1, '\0') + one("[4]", "[0,16]"), 16},
      Case{"trailing NUL", one("[4]", "[0,16]") + std::string(2, '\0'), 16},
      Case{"trailing text", one("[4]", "[0,16]") + "x", 16},
      Case{"second document", "{}{}", 0},
      Case{"byte-order mark", "\xef\xbb\xbf" + one("[4]", "[0,16]"), 16},
      Case{"comment", "{/*x*/}", 0},
      Case{"trailing comma", "{\"t\":" + tensor("[4]", "[0,16]") + ",}", 16},
      Case{"single quotes", "{'t':" + tensor("[4]", "[0,16]") + "}", 16},
      Case{"duplicate name",
           "{\"t\":" + tensor("[4]", "[0,16]") + ",\"t\":" + tensor("[4]", "[0,16]") + "}", 16},
      Case{"duplicate by escape",
           "{\"t\":" + tensor("[4]", "[0,16]") + ",\"\\u0074\":" + tensor("[4]", "[0,16]") + "}",
           16},
      Case{"duplicate that would fit",
           "{\"t\":" + tensor("[2]", "[0,8]") + ",\"t\":" + tensor("[2]", "[8,16]") + "}", 16},
      Case{"duplicate dtype",
           R"({"t":{"dtype":"I32","dtype":"F32","shape":[4],"data_offsets":[0,16]}})", 16},
      Case{"duplicate in metadata", with(R"("__metadata__":{"a":"b","a":"c"})"), 16},
      Case{"metadata number", with(R"("__metadata__":{"a":1})"), 16},
      Case{"metadata null value", with(R"("__metadata__":{"a":null})"), 16},
      Case{"metadata array", with(R"("__metadata__":[])"), 16},
      Case{"metadata object", with(R"("__metadata__":{"a":{}})"), 16},
  };
  expect_rejected(cases);
}

TEST(SafetensorsHeader, RejectsOtherTensors) {
  const std::vector<Case> cases{
      Case{"array form", R"({"t":["I32",[2,2],[0,16]]})", 16},
      Case{"missing dtype", R"({"t":{"shape":[4],"data_offsets":[0,16]}})", 16},
      Case{"missing shape", R"({"t":{"dtype":"I32","data_offsets":[0,16]}})", 16},
      Case{"missing offsets", R"({"t":{"dtype":"I32","shape":[4]}})", 16},
      Case{"parts of another tensor",
           R"({"a":{"dtype":"I32","shape":[0],"data_offsets":[0,0]},"b":{"dtype":"I32"}})", 0},
      Case{"unknown dtype", one("[4]", "[0,16]", "\"Q9\""), 16},
      Case{"lower-case dtype", one("[4]", "[0,16]", "\"i32\""), 16},
      Case{"dtype number", one("[4]", "[0,16]", "32"), 16},
      Case{"negative shape", one("[-2,-2]", "[0,16]"), 16},
      Case{"float shape", one("[2.0,2]", "[0,16]"), 16},
      Case{"text in shape", one("[\"2\",2]", "[0,16]"), 16},
      Case{"null shape", one("null", "[0,16]"), 16},
      Case{"null in shape", one("[4,null]", "[0,16]"), 16},
      Case{"nested shape", one("[[4]]", "[0,16]"), 16},
      Case{"nested behind numbers", one("[4,[]]", "[0,16]"), 16},
      Case{"object in shape", one("[4,{}]", "[0,16]"), 16},
      Case{"shape without array", one("4", "[0,16]"), 16},
      Case{"minus zero", one("[4]", "[-0,16]"), 16},
      Case{"plus", one("[4]", "[0,+16]"), 16},
      Case{"leading zero", one("[4]", "[0,016]"), 16},
      Case{"exponent", one("[4]", "[0,1.6e1]"), 16},
      Case{"whole exponent", one("[4]", "[0,16e0]"), 16},
      Case{"hexadecimal", one("[4]", "[0,0x10]"), 16},
  };
  expect_rejected(cases);
}

TEST(SafetensorsHeader, RejectsDataThatDoNotFit) {
  const std::vector<Case> cases{
      Case{"one offset", one("[4]", "[0]"), 16},
      Case{"three offsets", one("[4]", "[0,16,16]"), 16},
      Case{"end before begin", one("[4]", "[16,0]"), 16},
      Case{"overlap",
           "{\"a\":" + tensor("[4]", "[0,16]") + ",\"b\":" + tensor("[4]", "[8,24]") + "}", 24},
      Case{"whole overlap",
           "{\"a\":" + tensor("[4]", "[0,16]") + ",\"b\":" + tensor("[4]", "[0,16]") + "}", 16},
      Case{"hole", "{\"a\":" + tensor("[2]", "[0,8]") + ",\"b\":" + tensor("[2]", "[16,24]") + "}",
           24},
      Case{"late begin", one("[2]", "[8,16]"), 16},
      Case{"truncated data", one("[4]", "[0,16]"), 15},
      Case{"left-over data", one("[4]", "[0,16]"), 17},
      Case{"data without tensors", "{}", 1},
      Case{"size mismatch", one("[2,3]", "[0,16]"), 16},
      Case{"product overflows", one("[2,18446744073709551614]", "[0,16]"), 16},
      Case{"overflow before a zero", one("[18446744073709551615,18446744073709551615,0]", "[0,0]"),
           0},
      Case{"bytes wrap to 16", one("[4611686018427387908]", "[0,16]"), 16},
      Case{"more than 64 bits", one("[18446744073709551616]", "[0,16]"), 16},
      Case{"offsets wrap", one("[4]", "[18446744073709551600,0]"), 16},
      Case{"half a byte", one("[3]", "[0,1]", "\"F4\""), 1},
  };
  expect_rejected(cases);
}

TEST(SafetensorsHeader, RejectsStrangeNamesAndDepth) {
  const std::vector<Case> cases{
      Case{"not UTF-8", named("\xff"), 16},
      Case{"overlong UTF-8", named("\xc0\x80"), 16},
      Case{"lone surrogate", named("\\ud800"), 16},
      Case{"NUL in a name", named("a\\u0000b"), 16},
      Case{"control character in a name", named("a\nb"), 16},
      Case{"deep nesting", "{\"t\":" + std::string(200, '[') + std::string(200, ']') + "}", 0},
      Case{"deep nesting under an unknown key",
           R"({"t":{"x":)" + std::string(200, '[') + std::string(200, ']') +
               R"(,"dtype":"I8","shape":[1],"data_offsets":[0,1]}})",
           1}};
  expect_rejected(cases);
}

}  // namespace
}  // namespace penstock::runtime
