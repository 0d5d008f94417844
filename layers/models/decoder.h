#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/key.h"
#include "layers/losses/loss.h"

namespace penstock::layers {

/// The networks of decoders other than CTC, which end a model of any family: the section [decoder]
/// of a recipe.
struct DecoderOptions {
  std::string prediction = "lstm";  // lstm | stateless: network that reads the labels so far
  int width = 640;                  // channels of the prediction network, or of a language model
  int layers = 1;                   // lstm's layers, or blocks of a language model
  int context = 2;                  // labels that a stateless network reads: 1 | 2
  int joint = 640;                  // channels of the joint network
  std::string activation = "relu";  // of the joint network, or of an attention decoder's units
  std::vector<int> durations = {0, 1, 2, 3, 4};  // tdt: frames that a token may take
  double sigma = 0.05;                           // tdt: subtracted from tokens' log-probabilities
  double ctc_weight = 0;  // share of a CTC loss that is trained beside; 0: none

  // Options of a language model, and of an attention decoder:
  int heads = 8;                            // heads of attention
  int kv_heads = 0;                         // heads of keys and values; 0: as many as heads
  int head_channels = 0;                    // channels of a head; 0: width / heads
  bool qk_norm = false;                     // RMSNorm of each head of queries and keys
  int inner = 2560;                         // channels within each feed-forward unit
  double rotary_base = 10000;               // of rotary positions
  double norm_epsilon = 1e-5;               // of every norm
  bool tied = false;                        // the output layer has the embedding's table
  double dropout = 0;                       // within every unit
  double smoothing = 0;                     // label smoothing
  std::vector<int> prefix = {};             // ids before the frames of a language model
  std::vector<int> prompt = {};             // ids between the frames and the text
  std::vector<std::string> languages = {};  // names of those with prompts of their own
  std::vector<int> prompts = {};            // these prompts, one after another, as long as prompt
  int bos = 0, eos = 0;                     // ids that begin and end each text

  // Options of an attention decoder:
  std::string positions = "sinusoidal";  // of the text: sinusoidal | learned | canary | none
  int max_positions = 1024;              // rows of learned positions, and of Canary's
  double embedding_scale = 1;            // factor of the embeddings, not of positions
  bool embedding_norm = false;           // a norm of embeddings and positions
  bool bias = true;                      // biases of all products but the head
  bool key_bias = true;                  // biases of keys, if products have some
  bool head_bias = false;                // bias of the logits
  bool project = true;                   // the layer `output` projects the encoder's frames
  std::vector<int> suppress = {};        // ids that no text has
  std::vector<int> begin_suppress = {};  // ids that no text begins with; eos: none is empty

  std::vector<Key> keys();
  bool operator==(const DecoderOptions&) const = default;
};

/// A decoder: what turns an encoder's frames into labels, and learns to.
struct DecoderKind {
  std::string_view name;  // a value of model.decoder

  /// Makes the loss of a decoder with these options, which brings the layers that end a model.
  Loss (*loss)(const DecoderOptions& options);

  /// Returns what contradicts in these options.
  std::vector<Contradiction> (*contradictions)(const DecoderOptions& options);

  /// Keys of [decoder] that it reads.
  std::vector<std::string_view> keys = {};

  bool reads(std::string_view key) const;
};

/// True if both name one language: capitals do not count, and "-" is "_".
[[nodiscard]] bool is_same_language(std::string_view one, std::string_view other);

/// Makes the prompt of a language the only one: there are no languages then, and those of manifests
/// are not looked at. ConfigError, which lists all languages, if there is no such language.
void choose_language(DecoderOptions& options, std::string_view language);

/// Returns the keys of [decoder] whose values are not the defaults.
[[nodiscard]] std::vector<std::string_view> set_keys(const DecoderOptions& options);

/// Returns what contradicts in a decoder and these options: its own contradictions, and a key that
/// it does not read.
[[nodiscard]] std::vector<Contradiction> contradictions(const DecoderKind& decoder,
                                                        const DecoderOptions& options);

/// Returns the decoder of that name. ConfigError, which lists all names, if there is none.
[[nodiscard]] DecoderKind find_decoder(std::span<const DecoderKind> decoders,
                                       std::string_view name);

}  // namespace penstock::layers
