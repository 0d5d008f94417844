#include "layers/models/decoder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/quantities.h"

namespace penstock::layers {
namespace {

/// Returns the keys of decoders that write texts.
std::vector<Key> text_keys(DecoderOptions& o) {
  return {
      Key("decoder.heads", &o.heads, between(1, 1024),
          "heads of attention of a language model or attention decoder"),
      Key("decoder.kv_heads", &o.kv_heads, between(0, 1024),
          "heads of its keys and values, which as many of its heads share (grouped-query "
          "attention); 0: decoder.heads"),
      Key("decoder.head_channels", &o.head_channels, between(0, kMaxChannels),
          "channels of each of its heads; 0: decoder.width / decoder.heads"),
      Key("decoder.qk_norm", &o.qk_norm, anything(),
          "each head of a language model's queries and keys has an RMSNorm before it is rotated"),
      Key("decoder.inner", &o.inner, between(1, kMaxChannels),
          "channels within each feed-forward unit; a language model's are gated by as many more"),
      Key("decoder.rotary_base", &o.rotary_base, between(1, 1e9),
          "base of a language model's rotary positions, rope_theta in transformers"),
      Key("decoder.norm_epsilon", &o.norm_epsilon, between(0, 0.1),
          "number that every norm of a language model adds to the mean of squares, rms_norm_eps in "
          "transformers"),
      Key("decoder.tied", &o.tied, anything(),
          "the output layer of a language model or attention decoder has the table of its "
          "embedding, tie_word_embeddings in transformers"),
      Key("decoder.dropout", &o.dropout, between(0, 0.95),
          "share of numbers dropped within every unit of a language model or attention decoder, "
          "and of attention's weights"),
      Key("decoder.smoothing", &o.smoothing, between(0, 0.95),
          "label smoothing of the loss of CTC, a language model or attention decoder"),
      Key("decoder.prefix", &o.prefix, between(0, kMaxClasses - 1),
          "ids of tokens that a language model reads before the frames"),
      Key("decoder.prompt", &o.prompt, between(0, kMaxClasses - 1),
          "ids of tokens that a language model or attention decoder reads before the text"),
      Key("decoder.languages", &o.languages, anything(),
          "names of languages, as manifests write them, whose utterances have a prompt of their "
          "own, such as [\"en\", \"de\"]"),
      Key("decoder.prompts", &o.prompts, between(0, kMaxClasses - 1),
          "ids of the prompts of decoder.languages, one prompt after another, each as long as "
          "decoder.prompt, which utterances without a language have"),
      Key("decoder.bos", &o.bos, between(0, kMaxClasses - 1),
          "id of the token that begins each text of a language model or attention decoder"),
      Key("decoder.eos", &o.eos, between(0, kMaxClasses - 1),
          "id of the token that ends each text of a language model or attention decoder, and is "
          "none of its labels"),
  };
}

/// Returns the keys of attention decoders alone.
std::vector<Key> attention_keys(DecoderOptions& o) {
  return {
      Key("decoder.positions", &o.positions, one_of({"sinusoidal", "learned", "canary", "none"}),
          "positions of an attention decoder's text"),
      Key("decoder.max_positions", &o.max_positions, between(2, 1'000'000),
          "learned positions, or Canary's: longer texts are left out, prompt and bos included"),
      Key("decoder.embedding_scale", &o.embedding_scale, between(1e-3, 1e3),
          "factor of an attention decoder's embeddings before positions are added"),
      Key("decoder.embedding_norm", &o.embedding_norm, anything(),
          "an attention decoder normalises its embeddings, positions included"),
      Key("decoder.bias", &o.bias, anything(),
          "products of an attention decoder have biases, besides the head"),
      Key("decoder.key_bias", &o.key_bias, anything(),
          "keys of an attention decoder have a bias if its products have; Whisper's have none"),
      Key("decoder.head_bias", &o.head_bias, anything(),
          "the logits of an attention decoder have a bias"),
      Key("decoder.project", &o.project, anything(),
          "the layer output projects the encoder's frames to an attention decoder's width; false: "
          "the widths are equal, and it is left out"),
      Key("decoder.suppress", &o.suppress, between(0, kMaxClasses - 1),
          "ids that an attention decoder writes in no text, suppress_tokens in transformers"),
      Key("decoder.begin_suppress", &o.begin_suppress, between(0, kMaxClasses - 1),
          "ids that an attention decoder does not begin a text with, begin_suppress_tokens in "
          "transformers; with decoder.eos no text is empty"),
  };
}

/// Returns what contradicts in the prompts of languages.
std::vector<Contradiction> language_contradictions(const DecoderOptions& o) {
  std::vector<Contradiction> found;
  if (o.languages.empty() && o.prompts.empty()) return found;
  if (o.prompt.empty())
    found.push_back({"decoder.languages",
                     "needs decoder.prompt too: the prompt of utterances without a language"});
  else if (o.prompts.size() != o.languages.size() * o.prompt.size())
    found.push_back(
        {"decoder.prompts",
         fmt::format("has {}, but {} with a prompt of {} each, as long as decoder.prompt, need {}",
                     counted(o.prompts.size(), "id"), counted(o.languages.size(), "language"),
                     o.prompt.size(), o.languages.size() * o.prompt.size())});
  for (std::size_t i = 0; i < o.languages.size(); ++i) {
    const auto known = std::span(o.languages).first(i);
    if (o.languages[i].empty())
      found.push_back({"decoder.languages", "has a language without a name"});
    else if (std::ranges::any_of(known, [&](const std::string& before) {
               return is_same_language(before, o.languages[i]);
             }))
      found.push_back(
          {"decoder.languages", fmt::format("names '{}' a second time", o.languages[i])});
  }
  return found;
}

}  // namespace

std::vector<Key> DecoderOptions::keys() {
  std::vector<Key> keys = {
      Key("decoder.prediction", &prediction, one_of({"lstm", "stateless"}),
          "network that reads a transducer's labels so far: an LSTM reads all of them, a stateless "
          "one the last few"),
      Key("decoder.width", &width, between(1, kMaxChannels),
          "channels of the prediction network and its embedding, or of every block of a language "
          "model or attention decoder"),
      Key("decoder.layers", &layers, between(1, 1000),
          "layers of the LSTM, or blocks of a language model or attention decoder"),
      Key("decoder.context", &context, between(1, 2),
          "labels that a stateless prediction network reads"),
      Key("decoder.joint", &joint, between(1, kMaxChannels), "channels of the joint network"),
      Key("decoder.activation", &activation, one_of({"relu", "tanh", "gelu", "silu"}),
          "nonlinearity of the joint network, relu or tanh; of an attention decoder's feed-forward "
          "units, relu, gelu or silu"),
      Key("decoder.durations", &durations, between(0, 1000),
          "frames that a label or a blank may take, ascending, with model.decoder = tdt"),
      Key("decoder.sigma", &sigma, between(0, 1),
          "number subtracted from log-probabilities of labels in training, with model.decoder = "
          "tdt, which makes long durations likelier"),
      Key("decoder.ctc_weight", &ctc_weight, between(0, 0.99),
          "share of a CTC loss that is trained beside the loss of a transducer or of an attention "
          "decoder; 0: none"),
  };
  for (const auto keys_of : {text_keys, attention_keys})
    for (Key& key : keys_of(*this)) keys.push_back(std::move(key));
  return keys;
}

bool DecoderKind::reads(std::string_view key) const {
  return std::ranges::find(keys, key) != keys.end();
}

bool is_same_language(std::string_view one, std::string_view other) {
  const auto plain = [](char letter) {
    if (letter == '-') return '_';
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  };
  return std::ranges::equal(one, other, {}, plain, plain);
}

void choose_language(DecoderOptions& options, std::string_view language) {
  const auto found = std::ranges::find_if(options.languages, [&](const std::string& known) {
    return is_same_language(known, language);
  });
  if (found == options.languages.end())
    throw ConfigError(
        options.languages.empty()
            ? fmt::format("the model has no prompt of the language '{}', nor of any other: "
                          "decoder.languages is empty",
                          language)
            : fmt::format("the model has no prompt of the language '{}': it has those of {}",
                          language, fmt::join(options.languages, ", ")));
  const auto first =
      options.prompts.begin() + (found - options.languages.begin()) * std::ssize(options.prompt);
  options.prompt.assign(first, first + std::ssize(options.prompt));
  options.languages.clear();
  options.prompts.clear();
}

std::vector<std::string_view> set_keys(const DecoderOptions& options) {
  DecoderOptions defaults, values = options;
  const std::vector<Key> usual = defaults.keys(), now = values.keys();
  std::vector<std::string_view> set;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (std::visit(
            [&](auto* value) { return *value != *std::get<decltype(value)>(usual[i].value); },
            now[i].value))
      set.push_back(now[i].name);
  }
  return set;
}

std::vector<Contradiction> contradictions(const DecoderKind& decoder,
                                          const DecoderOptions& options) {
  std::vector<Contradiction> found = decoder.contradictions(options);
  for (Contradiction& one : language_contradictions(options)) found.push_back(std::move(one));
  for (const std::string_view key : set_keys(options))
    if (!decoder.reads(key))
      found.push_back(
          {key, fmt::format("{} has no effect with model.decoder = {}: leave it out, or "
                            "set another model.decoder",
                            key, decoder.name)});
  return found;
}

DecoderKind find_decoder(std::span<const DecoderKind> decoders, std::string_view name) {
  const auto found = std::ranges::find(decoders, name, &DecoderKind::name);
  if (found != decoders.end()) return *found;
  std::vector<std::string_view> names;
  for (const DecoderKind& decoder : decoders) names.push_back(decoder.name);
  throw ConfigError(
      fmt::format("no decoder is named {}: it is one of {}", name, fmt::join(names, ", ")));
}

}  // namespace penstock::layers
