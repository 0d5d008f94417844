#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "runtime/onnx/graph.h"

namespace penstock::runtime {

/// The most bytes that a message of Protocol Buffers may have, 2 GiB, less what a reader may add.
inline constexpr std::uint64_t kMaxModelBytes = (std::uint64_t{1} << 31) - (std::uint64_t{1} << 20);

/// The parts of an ONNX model besides its graph, and where its constants lie.
struct ModelFileOptions {
  std::map<std::string, std::string> metadata;
  /// A larger model has its constants in a second file, "<file>.data".
  std::uint64_t max_bytes = kMaxModelBytes;
};

/// Writes a model of ONNX: ModelProto of onnx.proto with this graph, in a file, or in two. The
/// bytes of one constant at a time are made. Each file gets its name when it is complete. Returns
/// the number of files. FileError; std::logic_error if a constant makes more or fewer bytes than
/// its shape has.
int write_model_file(const std::filesystem::path& file, const OnnxGraph& graph,
                     const ModelFileOptions& options = {});

}  // namespace penstock::runtime
