#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/key.h"
#include "layers/layer.h"
#include "layers/losses/ctc.h"
#include "layers/models/decoders.h"
#include "layers/nn/linear.h"

namespace penstock::layers {

/// The two ends of a model, whatever its family.
struct ModelEnds {
  int features = 161;      // channels of a frame
  int labels = 29;         // classes, blank included
  Loss loss = ctc_loss();  // the decoder's

  /// Returns the channels that the encoder's last layer makes for the decoder.
  int outputs() const { return loss.channels(labels); }
  /// Appends the encoder's last product, of any number of outputs in `options`; or nothing, if the
  /// decoder takes the encoder's channels as they are. ShapeError if these are not as many.
  void add_output(std::vector<std::unique_ptr<Layer>>& sequence, LinearOptions options) const;
  /// Appends the layers of the decoder, which end the model with the loss.
  void add_decoder(std::vector<std::unique_ptr<Layer>>& sequence) const {
    loss.add_layers(sequence, labels);
  }
};

/// Requirements on a struct of options that is a family of models: its name, its keys, and the
/// layers from feature frames to the decoder's last for their values.
template <class T>
concept ModelOptions = std::copyable<T> && std::default_initializable<T> &&
    requires(T options, const T& fixed, const ModelEnds& ends) {
  { T::kind } -> std::convertible_to<std::string_view>;
  { options.keys() } -> std::same_as<std::vector<Key>>;
  { fixed.build(ends) } -> std::same_as<std::vector<std::unique_ptr<Layer>>>;
};

/// Options that check their values against each other, and return what contradicts.
template <class T>
concept ChecksItsKeys = requires(const T& options, int features) {
  { options.contradictions(features) } -> std::same_as<std::vector<Contradiction>>;
};

/// Options with decoders of their own, besides those of every family.
template <class T>
concept HasDecoders = requires {
  { T::decoders() } -> std::same_as<std::vector<DecoderKind>>;
};

/// Options other than `Family` itself. `Family` holds options, but is not complete yet when it is
/// checked.
template <class T, class Family>
concept OptionsOfAnother = !std::same_as<T, Family> && ModelOptions<T>;

/// A family of models with the values of its keys, for any type of options. model.kind chooses it
/// from a list of families with their defaults.
class ModelFamily {
 public:
  /// Type-erased options.
  struct Options {
    virtual ~Options() = default;
    virtual std::string_view name() const = 0;
    virtual std::unique_ptr<Options> copy() const = 0;
    virtual ModelFamily defaults() const = 0;
    virtual std::vector<DecoderKind> decoders() const = 0;
    virtual std::vector<Key> keys() = 0;
    virtual std::vector<Contradiction> contradictions(int features) const = 0;
    virtual std::vector<std::unique_ptr<Layer>> build(const ModelEnds& ends) const = 0;
  };

  /// Makes an empty family: it has no key but model.kind, and builds nothing.
  ModelFamily() = default;
  template <OptionsOfAnother<ModelFamily> T>
  ModelFamily(T options)  // NOLINT: options are all that a family is
      : options_(std::make_unique<Held<T>>(std::move(options))), kind_(T::kind) {}
  ModelFamily(const ModelFamily& other);
  ModelFamily(ModelFamily&&) noexcept = default;
  ModelFamily& operator=(ModelFamily other) noexcept;
  ~ModelFamily() = default;

  /// Returns the value of model.kind; empty if there is no family.
  std::string_view name() const;
  /// Return the key model.kind, which takes one of `names`, and the family's own keys. They point
  /// into this object, which must outlive them.
  Key kind_key(std::vector<std::string_view> names);
  std::vector<Key> keys();
  std::vector<Contradiction> contradictions(int features) const;
  /// Returns the family with the defaults of its keys.
  ModelFamily defaults() const;
  /// Returns the decoders that can end its models, from which model.decoder chooses.
  std::vector<DecoderKind> decoders() const;
  /// Returns the options as a T. std::bad_cast unless they are a T.
  template <ModelOptions T>
  T& as() {
    return dynamic_cast<Held<T>&>(*options_).options;
  }
  template <ModelOptions T>
  const T& as() const {
    return dynamic_cast<const Held<T>&>(*options_).options;
  }
  bool operator==(const ModelFamily& other) const;

  /// Returns the type-erased options, by which layers/models/families.h builds the model; null if
  /// there is no family.
  const Options* options() const { return options_.get(); }

 private:
  template <class T>
  struct Held final : Options {
    explicit Held(T held) : options(std::move(held)) {}
    std::string_view name() const override { return T::kind; }
    std::unique_ptr<Options> copy() const override { return std::make_unique<Held>(*this); }
    ModelFamily defaults() const override { return T{}; }
    std::vector<DecoderKind> decoders() const override {
      std::vector<DecoderKind> all = layers::decoders();
      if constexpr (HasDecoders<T>) {
        const std::vector<DecoderKind> own = T::decoders();
        all.insert(all.end(), own.begin(), own.end());
      }
      return all;
    }
    std::vector<Key> keys() override { return options.keys(); }
    std::vector<Contradiction> contradictions(int features) const override {
      if constexpr (ChecksItsKeys<T>) return options.contradictions(features);
      return {};
    }
    std::vector<std::unique_ptr<Layer>> build(const ModelEnds& ends) const override {
      return options.build(ends);
    }
    T options;
  };

  std::unique_ptr<Options> options_;
  std::string kind_;  // name(), as the value of a key
};

/// Returns the family of that name, or null.
const ModelFamily* find_family(std::span<const ModelFamily> families, std::string_view name);

}  // namespace penstock::layers
