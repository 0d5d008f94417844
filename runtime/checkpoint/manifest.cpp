#include "runtime/checkpoint/manifest.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_nesting.h"
#include "base/mapped_file.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/hash.h"
#include "runtime/checkpoint/safetensors/safetensors_dtype.h"

// A manifest is one JSON object with sorted keys, indented by one space. The picture is shortened,
// and it lists a piece's keys by their meaning instead:
//
//   {
//    "hash": "0f3a…",          32 digits: XXH3-128 of the whole text, with zeros in their place
//    "kept": [{"bytes": …, "file": "huggingface/config.json", "hash": …}, …],
//    "shards": [
//     {"bytes": …, "file": "stage-0.safetensors", "header_hash": …,
//      "pieces": [{"name": "conv1.weight", "dtype": "F32", "full_shape": [64, 80, 3],
//                  "begin": 0, "end": 15360,                elements of the full tensor
//                  "file_begin": 512, "file_end": 61952,    bytes of the shard
//                  "hash": …}, …]}, …],
//    "state": {"step": 600, "config": {"model.hidden": "256", …}, …},
//    "version": 2
//   }
//
// The hash comes first and has a fixed length, so it is found and replaced without parsing. A text
// that does not have its hash is never parsed. The hashes of shards, pieces and files lie within
// the text, so the one hash of the manifest vouches for every byte of the checkpoint.

/// Writes a dtype by its safetensors name. It is a specialisation, since nlohmann-json would look
/// for functions in the dtype's own namespace, find none, and write its number.
template <>
struct nlohmann::adl_serializer<penstock::layers::DType> {
  static void to_json(json& text, penstock::layers::DType dtype) {
    text = penstock::runtime::to_safetensors(dtype);
  }
  static void from_json(const json& text, penstock::layers::DType& dtype) {
    const auto found = penstock::runtime::from_safetensors(text.get<std::string>());
    if (!found) throw penstock::CheckpointError(fmt::format("unknown dtype {}", text.dump()));
    dtype = *found;
  }
};

namespace penstock::runtime {

using Json = nlohmann::json;  // sorts keys, so that the hash is first

namespace {

constexpr int kVersion = 2;
// Beginning of a manifest, up to the digits of its hash.
constexpr std::string_view kOpening = "{\n \"hash\": \"";
constexpr std::size_t kDigits = 32;
// These keys are optional. A manifest has them only if the text has a SentencePiece model, if the
// run changed keys, if it changed its data, if the weights are a mean of several checkpoints, if
// training is augmented with recordings, or if a training wrote it that counts validations.
constexpr const char* kTokenizer = "tokenizer";
constexpr const char* kCorrections = "corrections";
constexpr const char* kDataOrigin = "data_origin";
constexpr const char* kAveraged = "averaged";
constexpr const char* kSoundHashes = "sound_hashes";
constexpr const char* kEarlyStopping = "early_stopping";

/// Throws CheckpointError unless the path stays within the folder. A checkpoint may come from
/// anyone. Without this check, a manifest could name a file outside the folder, such as
/// "../../key", which would be read and copied into later checkpoints.
void check_within(const std::string& file) {
  const std::filesystem::path path(file);
  const bool within = !file.empty() && file != "." && path.is_relative() &&
                      path == path.lexically_normal() && *path.begin() != "..";
  if (!within)
    throw CheckpointError(
        fmt::format("names '{}', which is no file within the checkpoint's folder", file));
}

/// Throws CheckpointError if a count is written with a fraction or an exponent, such as 1e99: to
/// convert one that is too large is undefined. The state of the loss scale and the best values are
/// no counts. `name` is the key of `json`, or of the list that it is in.
void check_counts(const nlohmann::json& json, const std::string& name) {
  if (name == "loss_scale" || name == "best_value" || name == "value") return;
  if (json.is_number_float())
    throw CheckpointError(fmt::format("its {} is {}, expected a whole number", name, json.dump()));
  if (json.is_array())
    for (const auto& element : json) check_counts(element, name);
  if (json.is_object())
    for (const auto& [key, value] : json.items()) check_counts(value, key);
}

void check_nesting(std::string_view text) {
  if (json_nests_too_deeply(text))
    throw CheckpointError(fmt::format("its values nest deeper than {}", kDeepestNesting));
}

}  // namespace

// nlohmann-json finds these by argument-dependent lookup.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ShardPiece, name, dtype, full_shape, begin, end, file_begin,
                                   file_end, hash)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ShardIndex, file, bytes, header_hash, pieces)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(KeptFile, file, bytes, hash)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Correction, step, key, before, after)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AveragedCheckpoint, step, folder)

void to_json(Json& json, const EarlyStoppingRecord& record) {
  json = {{"metric", record.metric}, {"corpus_hash", record.corpus_hash},
          {"value", record.value},   {"step", record.step},
          {"waited", record.waited}, {"validated", record.validated}};
}
void from_json(const Json& json, EarlyStoppingRecord& record) {
  json.at("metric").get_to(record.metric);
  json.at("corpus_hash").get_to(record.corpus_hash);
  json.at("value").get_to(record.value);
  json.at("step").get_to(record.step);
  json.at("waited").get_to(record.waited);
  json.at("validated").get_to(record.validated);
  if (record.step < 0 || record.waited < 0 || record.validated < record.step)
    throw CheckpointError(
        fmt::format("it counts {} validations after step {}, the last after step {}", record.waited,
                    record.step, record.validated));
}

// An origin within an epoch is younger than the format.
void to_json(Json& json, const DataOrigin& origin) {
  json = {{"step", origin.step}, {"epoch", origin.epoch}};
  if (origin.micro_batch > 0) json["micro_batch"] = origin.micro_batch;
}
void from_json(const Json& json, DataOrigin& origin) {
  json.at("step").get_to(origin.step);
  json.at("epoch").get_to(origin.epoch);
  origin.micro_batch = json.value("micro_batch", std::int64_t{0});
  if (origin.micro_batch < 0)
    throw CheckpointError(
        fmt::format("its data begin at micro-batch {} of an epoch", origin.micro_batch));
}

/// Calls visit(key, field) for each field of a state. The keys are fixed by version 2 of the
/// format. Reading and writing share this list, so no field can be written and not read.
template <class State, class Visit>
void for_fields(State& state, Visit visit) {
  visit("step", state.step);
  visit("taken", state.optimizer_steps);
  visit("epoch", state.epoch);
  visit("step_in_epoch", state.step_in_epoch);
  visit("seed", state.seed);
  visit("lanes", state.lanes);
  visit("loss_scale", state.loss_scale);
  visit("corpus_hash", state.corpus_hash);
  visit("config", state.config);
  visit("plan_toml", state.plan_toml);
  visit("best_metric", state.best_metric);
  visit("best_value", state.best_value);
  visit("best_step", state.best_step);
  visit("best_corpus_hash", state.best_corpus_hash);
}
void to_json(Json& json, const TrainingState& state) {
  for_fields(state, [&](const char* key, const auto& field) { json[key] = field; });
  if (!state.tokenizer_hash.empty()) json[kTokenizer] = state.tokenizer_hash;
  if (!state.corrections.empty()) json[kCorrections] = state.corrections;
  if (state.data_origin != DataOrigin{}) json[kDataOrigin] = state.data_origin;
  if (!state.averaged.empty()) json[kAveraged] = state.averaged;
  if (!state.sound_hashes.empty()) json[kSoundHashes] = state.sound_hashes;
  if (state.early_stopping) json[kEarlyStopping] = *state.early_stopping;
}
void from_json(const Json& json, TrainingState& state) {
  for_fields(state, [&](const char* key, auto& field) { json.at(key).get_to(field); });
  state.tokenizer_hash = json.value(kTokenizer, std::string());
  state.corrections = json.value(kCorrections, std::vector<Correction>());
  state.data_origin = json.value(kDataOrigin, DataOrigin());
  state.averaged = json.value(kAveraged, std::vector<AveragedCheckpoint>());
  state.sound_hashes = json.value(kSoundHashes, std::map<std::string, std::string>());
  if (const auto record = json.find(kEarlyStopping); record != json.end())
    state.early_stopping = record->get<EarlyStoppingRecord>();
}

std::string to_text(const ShardIndex& index) try {
  return Json(index).dump();
} catch (const Json::exception& error) {
  throw CheckpointError(fmt::format("shard {} can't be described: {}", index.file, error.what()));
}

ShardIndex parse_shard_index(std::string_view text) try {
  check_nesting(text);
  const Json json = Json::parse(text);
  check_counts(json, "index");
  return json.get<ShardIndex>();
} catch (const Json::exception& error) {
  throw CheckpointError(fmt::format("not the index of a shard: {}", error.what()));
}

// The hash is computed over the text that has zeros in its place, and then put there. JSON has no
// notation for infinity: it would become null, which no later run could read.
std::string to_text(const Manifest& manifest) try {
  const TrainingState& state = manifest.state;
  if (!std::isfinite(state.best_value) ||
      (state.early_stopping && !std::isfinite(state.early_stopping->value)))
    throw CheckpointError(fmt::format("the best {} is not a finite number", state.best_metric));
  Json json;
  json["hash"] = std::string(kDigits, '0');
  json["version"] = kVersion;
  json["state"] = state;
  json["shards"] = manifest.shards;
  if (!manifest.files.empty()) json["kept"] = manifest.files;
  std::string text = json.dump(1) + "\n";
  text.replace(kOpening.size(), kDigits, xxh3_128(text));
  return text;
} catch (const Json::exception& error) {
  throw CheckpointError(fmt::format("the manifest can't be written: {}", error.what()));
}

// The order of the checks decides the message: a file of another kind, then damage, then another
// version of the format. Only a whole manifest is asked for its version.
Manifest parse_manifest(std::string_view text) try {
  if (!text.starts_with(kOpening) || text.size() < kOpening.size() + kDigits)
    throw CheckpointError("not a checkpoint's manifest");
  std::string zeroed(text);
  zeroed.replace(kOpening.size(), kDigits, kDigits, '0');
  if (xxh3_128(zeroed) != text.substr(kOpening.size(), kDigits))
    throw CheckpointError("damaged: the contents do not have the hash that they state");
  check_nesting(text);
  const Json json = Json::parse(text);
  if (json.at("version") != kVersion)
    throw CheckpointError(
        fmt::format("of version {} of the format, but this penstock reads version {}",
                    json.at("version").dump(), kVersion));
  check_counts(json, "manifest");
  Manifest manifest{json.at("state").get<TrainingState>(),
                    json.at("shards").get<std::vector<ShardIndex>>(),
                    json.value("kept", std::vector<KeptFile>())};
  for (const ShardIndex& shard : manifest.shards) check_within(shard.file);
  for (const KeptFile& kept : manifest.files) check_within(kept.file);
  return manifest;
} catch (const Json::exception& error) {
  throw CheckpointError(fmt::format("not a checkpoint's manifest: {}", error.what()));
}

Manifest read_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kManifestFile;
  const MappedFile file = map_file(path);
  try {
    return parse_manifest(file.bytes());
  } catch (const Error& error) {
    throw_fault(path, error.what());
  }
}

}  // namespace penstock::runtime
