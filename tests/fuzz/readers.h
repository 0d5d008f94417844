#pragma once

#include <span>
#include <string_view>

#include "base/error.h"

namespace penstock::test {

/// A reader of bytes that anyone may have written. `read` passes bytes to it as production does,
/// and uses all that it returns.
struct ForeignReader {
  std::string_view name;  // also the folder of its corpus
  void (*read)(std::string_view bytes);
};

/// Returns all readers, in the order of their names.
std::span<const ForeignReader> foreign_readers();

void read_adapter_config(std::string_view bytes);
void read_audio_file(std::string_view bytes);
void read_byte_pair_files(std::string_view bytes);
void read_byte_pair_json(std::string_view bytes);
void read_checkpoint_manifest(std::string_view bytes);
void read_cluster_file(std::string_view bytes);
void read_device_file(std::string_view bytes);
void read_included_recipes(std::string_view bytes);
void read_index_file(std::string_view bytes);
void read_manifest_of_folder(std::string_view bytes);
void read_manifest_of_json(std::string_view bytes);
void read_manifest_of_kaldi(std::string_view bytes);
void read_manifest_of_lhotse(std::string_view bytes);
void read_compressed_manifest(std::string_view bytes);
void read_manifest_of_table(std::string_view bytes);
void read_manifest_of_tar(std::string_view bytes);
void read_model_config(std::string_view bytes);
void read_piece_model(std::string_view bytes);
void read_plan_file(std::string_view bytes);
void read_recipe(std::string_view bytes);
void read_s3_answer(std::string_view bytes);
void read_safetensors_file(std::string_view bytes);
void read_safetensors_header(std::string_view bytes);
void read_schedule_csv(std::string_view bytes);
void read_sequence_json(std::string_view bytes);
void read_tar_file(std::string_view bytes);
void read_tokenizer_json(std::string_view bytes);
void read_vocabulary_files(std::string_view bytes);

/// Calls a reader. An error of penstock is its answer to bytes that it can't use. Anything else
/// that it throws passes, and ends the process: that is a finding.
template <class Read>
void expect_answer(Read read) {
  try {
    read();
  } catch (const Error&) {
  }
}

}  // namespace penstock::test
