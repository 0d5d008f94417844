#include <algorithm>
#include <iterator>

#include "runtime/huggingface/fast_conformer.h"

// ParakeetForCTC is NVIDIA's FastConformer with a CTC head. ParakeetForRNNT and ParakeetForTDT have
// the same encoder and a transducer's networks after it, an LSTM and a joint network of one width.
// Rows of the joint network's product after those of labels are durations, and keep their places.

namespace penstock::runtime {
namespace {

constexpr std::string_view kParakeetLibrary = "transformers.models.parakeet.modeling_parakeet";

const std::vector<TensorRule> kHead = {
    {"ctc_head", "output", Rows::labels, Columns::same, Axes::one_last},
};

const std::vector<TensorRule> kTransducer = {
    {"encoder_projector", "output"},
    {"decoder.embedding", "transducer.embedding", Rows::labels},
    {"decoder.decoder_projector", "transducer.projection"},
    {"joint.head", "transducer.joint", Rows::labels},
};

// A recurrence of penstock has an axis for its directions, of which these have one.
const std::vector<TensorRule> kLstmLayer = {
    {.theirs = "decoder.lstm.weight_ih_l{}",
     .ours = "transducer.lstm{}.input.weight",
     .alone = true},
    {.theirs = "decoder.lstm.bias_ih_l{}", .ours = "transducer.lstm{}.input.bias", .alone = true},
    {.theirs = "decoder.lstm.weight_hh_l{}",
     .ours = "transducer.lstm{}.weight",
     .axes = Axes::without_first,
     .alone = true},
    {.theirs = "decoder.lstm.bias_hh_l{}",
     .ours = "transducer.lstm{}.bias",
     .axes = Axes::without_first,
     .alone = true},
};

const std::vector<MappedSetting> kTransducerModel = {
    {.theirs = "decoder_hidden_size",
     .absent = "640",
     .ours = "decoder.width",
     .also = "decoder.joint"},
    {"num_decoder_layers", "2", "decoder.layers"},
    {.theirs = "hidden_act",
     .absent = R"("relu")",
     .ours = "decoder.activation",
     .form = Form::text,
     .accepted = {"relu", "tanh"}},
};

Architecture parakeet_transducer(const ClassNames& names) {
  Architecture architecture = fast_conformer(names);
  architecture.fixed.push_back({"decoder.prediction", "lstm"});
  std::ranges::copy(kTransducerModel, std::back_inserter(architecture.model));
  architecture.tensors.push_back({"1", kTransducer});
  architecture.tensors.push_back({"decoder.layers", kLstmLayer});
  architecture.blank_setting = "blank_token_id";
  architecture.blank_token = "<blank>";
  return architecture;
}

}  // namespace

Architecture parakeet_for_ctc() {
  Architecture architecture =
      fast_conformer({"ParakeetForCTC", "parakeet_ctc", kParakeetLibrary, "ctc", "1024"});
  architecture.tensors.push_back({"1", kHead});
  return architecture;
}

Architecture parakeet_for_rnnt() {
  return parakeet_transducer(
      {"ParakeetForRNNT", "parakeet_rnnt", kParakeetLibrary, "rnnt", "8192"});
}

Architecture parakeet_for_tdt() {
  Architecture architecture =
      parakeet_transducer({"ParakeetForTDT", "parakeet_tdt", kParakeetLibrary, "tdt", "8192"});
  architecture.model.push_back({"durations", "[0,1,2,3,4]", "decoder.durations", Form::from_zero});
  return architecture;
}

}  // namespace penstock::runtime
