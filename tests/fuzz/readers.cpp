#include "tests/fuzz/readers.h"

namespace penstock::test {
namespace {

constexpr ForeignReader kReaders[] = {
    {"adapter_config", read_adapter_config},
    {"audio", read_audio_file},
    {"byte_pair_files", read_byte_pair_files},
    {"byte_pair_json", read_byte_pair_json},
    {"checkpoint_manifest", read_checkpoint_manifest},
    {"cluster", read_cluster_file},
    {"device", read_device_file},
    {"index", read_index_file},
    {"manifest_folder", read_manifest_of_folder},
    {"manifest_gzip", read_compressed_manifest},
    {"manifest_json", read_manifest_of_json},
    {"manifest_kaldi", read_manifest_of_kaldi},
    {"manifest_lhotse", read_manifest_of_lhotse},
    {"manifest_table", read_manifest_of_table},
    {"manifest_tar", read_manifest_of_tar},
    {"model_config", read_model_config},
    {"piece_model", read_piece_model},
    {"plan", read_plan_file},
    {"recipe", read_recipe},
    {"recipe_include", read_included_recipes},
    {"s3", read_s3_answer},
    {"safetensors", read_safetensors_file},
    {"safetensors_header", read_safetensors_header},
    {"schedule_csv", read_schedule_csv},
    {"sequence_json", read_sequence_json},
    {"tar", read_tar_file},
    {"tokenizer_json", read_tokenizer_json},
    {"vocabulary", read_vocabulary_files},
};

}  // namespace

std::span<const ForeignReader> foreign_readers() { return kReaders; }

}  // namespace penstock::test
