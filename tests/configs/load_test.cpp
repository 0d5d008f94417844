#include "configs/load.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "configs/config_folder.h"
#include "configs/schema.h"
#include "layers/models/deepspeech2.h"
#include "layers/models/families.h"
#include "tests/support/tree/sources.h"

namespace penstock::configs {
namespace {

using Overrides = std::vector<std::string>;
using Manifests = std::vector<WeightedManifest>;

Config parsed(const std::string& text, const Overrides& overrides = {}) {
  return parse_config(text, "recipe.toml", layers::model_families(), overrides);
}

const layers::DeepSpeech2Options& deepspeech2(const Config& config) {
  return config.model.family.as<layers::DeepSpeech2Options>();
}

std::string fault(const std::string& text, const Overrides& overrides = {}) {
  try {
    parsed(text, overrides);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Load, NothingGivesTheDefaults) {
  EXPECT_EQ(load_config("", layers::model_families()), default_config(layers::model_families()));
}

TEST(Load, TakesEveryType) {
  const Config config = parsed(R"(
[model]
bidirectional = false
[data]
train = "a b.jsonl"
speeds = [0.9, 1, 1.1]
[optimizer]
learning_rate = 1
[trainer]
steps = 1_000_000
seed = 18
)");
  EXPECT_FALSE(deepspeech2(config).bidirectional);
  EXPECT_EQ(config.data.train, (Manifests{{"a b.jsonl"}}));
  EXPECT_EQ(config.data.speeds, (std::vector<double>{0.9, 1, 1.1}));
  EXPECT_EQ(config.optimizer.learning_rate, 1);
  EXPECT_EQ(config.trainer.steps, 1000000);
  EXPECT_EQ(config.trainer.seed, 18u);
}

TEST(Load, TheLaterOverrideHolds) {
  const Config config = parsed(
      "[trainer]\nsteps = 1",
      Overrides{"trainer.steps=2", "data.train=x=y.jsonl", "trainer.steps=3", "text.alphabet='ab"});
  EXPECT_EQ(config.trainer.steps, 3);
  EXPECT_EQ(config.data.train, (Manifests{{"x=y.jsonl"}}));
  EXPECT_EQ(config.text.alphabet, "'ab");
}

TEST(Load, BaseLiesBelowTheRecipe) {
  const Config config = parsed("[model]\nbase = \"ds2-large\"\nhidden = 320");
  EXPECT_EQ(deepspeech2(config).rnn, "lstm");
  EXPECT_EQ(deepspeech2(config).layers, 5);
  EXPECT_EQ(deepspeech2(config).hidden, 320);
  const Config over =
      parsed("[model]\nbase = \"ds2-large\"\nhidden = 320", Overrides{"model.base=ds2-tiny"});
  EXPECT_EQ(deepspeech2(over).layers, 3);
  EXPECT_EQ(deepspeech2(over).hidden, 320);
}

TEST(Load, BaseMayBeAFile) {
  const auto file = std::filesystem::path(testing::TempDir()) / "load_test_model.toml";
  std::ofstream(file) << "[model]\nhidden = 7\n[trainer]\nsteps = 3\n";
  EXPECT_EQ(
      fault("", {"model.base=" + file.string()}),
      "the configuration can't be used:\n  " + file.string() +
          ":4: trainer.steps is not allowed in a model's file, which holds [model], [decoder], "
          "[features] and [text]");
  std::ofstream(file) << "[model]\nhidden = 7\n";
  EXPECT_EQ(deepspeech2(parsed("", Overrides{"model.base=" + file.string()})).hidden, 7);
}

TEST(Load, BaseMayHoldADecoder) {
  const Config config =
      parsed("[decoder]\nlayers = 1\n", Overrides{"model.base=parakeet-tdt-0.6b"});
  EXPECT_EQ(config.model.decoder, "tdt");
  EXPECT_EQ(config.model.networks.layers, 1);
  EXPECT_EQ(parsed("", Overrides{"model.base=parakeet-tdt-0.6b"}).model.networks.layers, 2);
}

// A recipe's settings go before a model file's, and the command line's before both.
TEST(Load, BaseMayHoldFeaturesAndText) {
  const auto file = std::filesystem::path(testing::TempDir()) / "load_test_heard.toml";
  std::ofstream(file) << "[features]\nkind = \"log-mel\"\nmels = 23\nhop_ms = 12\n"
                         "[text]\nalphabet = \"ab\"\n";
  const Config config = parsed("[features]\nmels = 40\nhop_ms = 11\n",
                               Overrides{"model.base=" + file.string(), "features.hop_ms=10"});
  EXPECT_EQ(config.features.kind, "log-mel");
  EXPECT_EQ(config.features.mels, 40);
  EXPECT_EQ(config.features.hop_ms, 10);
  EXPECT_EQ(config.text.alphabet, "ab");
}

TEST(Load, EveryModelHearsWhatItsFeaturesAre) {
  for (const std::string& name : model_names()) {
    const Config config = parsed("", Overrides{"model.base=" + name});
    const FeatureConfig& f = config.features;
    const int channels = f.kind == "waveform"      ? 1
                         : f.kind == "spectrogram" ? 161
                                                   : f.mels * f.stack;
    EXPECT_EQ(config.model.features, channels) << name;
  }
}

TEST(Load, ReportsEveryFaultWithLineAndNearestKey) {
  EXPECT_EQ(fault(R"([trainer]
stepz = 5
steps = "many"
[model]
hidden = 0
[pipeline]
seed = 3
[weather]
umbrella = true
)",
                  {"pipeline.schedule=zigzag", "loud", "trainer.lanse=2"}),
            R"(the configuration can't be used:
  command line: "loud" is not of the form key=value
  recipe.toml:2: unknown key trainer.stepz; did you mean trainer.steps?
  recipe.toml:3: trainer.steps = 'many', but it takes a whole number of at least 1
  recipe.toml:5: model.hidden = 0, but it takes a whole number from 1 to 65536
  recipe.toml:7: unknown key pipeline.seed; did you mean trainer.seed?
  recipe.toml:9: unknown key weather.umbrella
  command line: pipeline.schedule = zigzag, but it takes one of gpipe, 1f1b, interleaved, interleaved-3, interleaved-4, zb-h1, zb-h2, zb-v, v-half, v-min, dualpipe-v, found, interleaved-*, *.csv
  command line: unknown key trainer.lanse; did you mean trainer.lanes?)");
}

TEST(Load, RejectsWrongTypes) {
  EXPECT_NE(fault("[trainer]\nsteps = 1.5").find("1.5, but it takes a whole"), std::string::npos);
  EXPECT_NE(fault("[trainer]\nresume = 1").find("takes true or false"), std::string::npos);
  EXPECT_NE(
      fault("[data]\ntrain = 3").find("data.train = 3, but it takes a path, or a list of paths"),
      std::string::npos);
  EXPECT_NE(fault("[data]\nspeeds = [1, 'x']")
                .find("recipe.toml:2: data.speeds = [ 1, 'x' ], but it takes a list of numbers"),
            std::string::npos);
  EXPECT_NE(fault("[model.rnn]\nkind = 3").find("model.rnn = "), std::string::npos);
  EXPECT_NE(fault("steps = 3").find("unknown key steps; did you mean trainer.steps?"),
            std::string::npos);
}

TEST(Load, ReadsManifestsInAnyFormOfToml) {
  const Manifests both = {{"a, b.jsonl", 2}, {"c.jsonl"}};
  EXPECT_EQ(parsed(R"([data]
train = [{manifest = "a, b.jsonl", weight = 2}, "c.jsonl"])")
                .data.train,
            both);
  EXPECT_EQ(parsed(R"([[data.train]]
manifest = "a, b.jsonl"
weight = 2.0
[[data.train]]
manifest = 'c.jsonl'
[data]
speeds = [1])")
                .data.train,
            both);
  EXPECT_EQ(parsed("[data]\ntrain = ['c.jsonl', 'd.jsonl']").data.train,
            (Manifests{{"c.jsonl"}, {"d.jsonl"}}));
  EXPECT_EQ(
      parsed("[data]\ntrain = ['c.jsonl', 'd.jsonl']", Overrides{"data.train=e.jsonl"}).data.train,
      (Manifests{{"e.jsonl"}}));
  EXPECT_EQ(parsed("", Overrides{R"(data.train=[{manifest="a, b.jsonl",weight=2},"c.jsonl"])"})
                .data.train,
            both);
}

TEST(Load, RejectsManifestsThatAreNone) {
  EXPECT_EQ(fault("[data]\n\ntrain = []"),
            "the configuration can't be used:\n  recipe.toml:3: data.train = [], but the list is "
            "empty: name a manifest");
  EXPECT_NE(fault("[data]\ntrain = [1, 2]").find("item 1 is neither a path nor"),
            std::string::npos);
  EXPECT_NE(fault("[[data.train]]\nmanifest = 'a'\nweight = 0").find("item 1 has the weight 0"),
            std::string::npos);
  EXPECT_NE(fault("[data]\ntemperature = 0").find("takes a number above 0"), std::string::npos);
  EXPECT_NE(fault("[data]\nspeeds = [{a = 1}]").find("takes a list of numbers"), std::string::npos);
}

TEST(Load, ReadsListsOfLayerNames) {
  const Config config =
      parsed("[pipeline]\nrecompute = \"layers\"\nrecompute_layers = [\"norm1\", 'rnn2.norm']");
  EXPECT_EQ(config.pipeline.recompute_layers, (std::vector<std::string>{"norm1", "rnn2.norm"}));
  const std::vector<std::string> overrides{"pipeline.recompute=layers",
                                           "pipeline.recompute_layers=[norm1, \"rnn2.norm\"]"};
  const Config overridden = parsed("[pipeline]\nrecompute_layers = []", overrides);
  EXPECT_EQ(overridden.pipeline, config.pipeline);
  EXPECT_NE(fault("[pipeline]\nrecompute_layers = ['a, b']").find("it takes a list of names"),
            std::string::npos);
  EXPECT_NE(fault("[pipeline]\nrecompute_layers = ['a', 1]").find("it takes a list of names"),
            std::string::npos);
  for (const char* names : {"['']", "['norm1', '']"})
    EXPECT_NE(fault(std::string("[pipeline]\nrecompute_layers = ") + names)
                  .find("it takes a list of names"),
              std::string::npos)
        << names;
  EXPECT_NE(fault("[pipeline]\nrecompute = 'layers'")
                .find("recipe.toml:2: pipeline.recompute = layers needs the layers' names"),
            std::string::npos);
  EXPECT_NE(fault("[pipeline]\nrecompute = 'stage'\nrecompute_layers = ['norm1']")
                .find("recipe.toml:3: pipeline.recompute_layers needs pipeline.recompute = "
                      "layers or selective, not stage"),
            std::string::npos);
  EXPECT_NE(fault("[pipeline]\nbucket_bytes = 4095")
                .find("recipe.toml:2: pipeline.bucket_bytes = 4095 makes too many messages"),
            std::string::npos);
  EXPECT_EQ(parsed("[pipeline]\nbucket_bytes = 4096").pipeline.bucket_bytes, 4096);
}

TEST(Load, RejectsPostValidationWithUnsupportedOptimizersAndScaling) {
  const std::string late = "[pipeline]\npost_validation = true\n";
  EXPECT_EQ(fault(late + "[optimizer]\nkind = 'sgd'"), "accepted");
  for (const char* waiting : {"kind = 'lamb'", "kind = 'novograd'", "kind = 'sgd'\nlarc = 0.01"})
    EXPECT_NE(fault(late + "[optimizer]\n" + waiting)
                  .find("recipe.toml:2: pipeline.post_validation needs optimizer.kind = adamw, "
                        "or sgd without optimizer.larc"),
              std::string::npos);
  const std::string logmax = "loss_scaling = 'logmax'";
  EXPECT_EQ(fault(late + "[precision]\n" + logmax), "accepted");
  EXPECT_NE(fault(late + "[precision]\ncompute = 'fp16'\n" + logmax)
                .find("recipe.toml:2: pipeline.post_validation needs precision.loss_scaling"),
            std::string::npos);
}

TEST(Load, RejectsSpeedsOutOfRange) {
  EXPECT_EQ(fault("[data]\nspeeds = [0.4, 1]"),
            "the configuration can't be used:\n  recipe.toml:2: data.speeds = [0.4, 1], but it "
            "takes a list of numbers from 0.5 to 2, such as [0.9, 1]");
  EXPECT_EQ(fault("[data]\nspeeds = [0.5, 2]"), "accepted");
}

TEST(Load, ReadsAnOrderOfMicroBatches) {
  const auto order = [](const std::string& list) {
    return parsed("[data]\nmicro_batches = 3\n[trainer]\norder = " + list).trainer.order;
  };
  EXPECT_EQ(order("[2, 0, 1]"), (std::vector{2, 0, 1}));
  EXPECT_TRUE(order("[]").empty());
  EXPECT_EQ(parsed("", Overrides{"trainer.order=[1,3,0,2]"}).trainer.order,
            (std::vector{1, 3, 0, 2}));
  const auto error_message = [](const std::string& list) {
    return fault("[data]\nmicro_batches = 3\n[trainer]\norder = " + list);
  };
  EXPECT_NE(
      error_message("[2, 0]").find("recipe.toml:4: trainer.order has 2 places, but a step has 3"),
      std::string::npos);
  EXPECT_NE(error_message("[2, 0, 0]").find("trainer.order names 0 twice"), std::string::npos);
  EXPECT_NE(error_message("[2, 0, 3]").find("trainer.order names 3, but"), std::string::npos);
  EXPECT_NE(error_message("[2, 0, 1.5]").find("takes a list of whole numbers"), std::string::npos);
}

TEST(Load, NamesKnownModels) {
  EXPECT_EQ(fault("[model]\n\nbase = \"conformer-x\""),
            "the configuration can't be used:\n  recipe.toml:3: model.base = conformer-x is not a "
            "known model; known are canary-1b-v2, cohere-transcribe, conformer-l, conformer-m, "
            "conformer-s, ds2-large, ds2-small, ds2-tiny, ds2-wide, fastconformer-l, "
            "fastconformer-m, fastconformer-xl, "
            "fastconformer-xxl, hubert-xl, omni-ctc-1b, omni-ctc-300m, omni-ctc-3b, omni-ctc-7b, "
            "omni-llm-1b, omni-llm-300m, omni-llm-3b, omni-llm-7b, parakeet-rnnt-1.1b, "
            "parakeet-tdt-0.6b, qwen3-asr-0.6b, qwen3-asr-1.7b, transformer-base, w2v-bert-2, "
            "w2v-small, wav2letter-plus, wav2vec2-base, whisper-large-v3, whisper-large-v3-turbo, "
            "or give a TOML file; did you mean conformer-l?");
}

TEST(Load, RejectsWhatIsNotToml) {
  EXPECT_NE(fault("[model]\nhidden = = 3\n").find("  recipe.toml:2: not TOML: "),
            std::string::npos);
}

TEST(Load, RejectsMissingFiles) {
  EXPECT_THROW(load_config("/nowhere/recipe.toml", layers::model_families()), ConfigError);
  EXPECT_THROW(load_config(testing::TempDir(), layers::model_families()), ConfigError);
}

TEST(Load, RejectsAcceptedKeysThatCannotChange) {
  EXPECT_NE(
      fault("[trainer]\naccept = ['optimizer.learning_rat']")
          .find("recipe.toml:2: trainer.accept names optimizer.learning_rat, which is no key; "
                "did you mean optimizer.learning_rate?"),
      std::string::npos);
  EXPECT_NE(fault("[trainer]\naccept = ['optimizer.kind']")
                .find("trainer.accept names optimizer.kind, which no run can change"),
            std::string::npos);
  EXPECT_EQ(fault("[trainer]\naccept = ['optimizer.clip_norm', 'data.train']"), "accepted");
}

TEST(Load, RejectsContradictions) {
  EXPECT_NE(
      fault("[lr_schedule]\nkind = 'cosine'").find("recipe.toml:2: lr_schedule.kind = cosine"),
      std::string::npos);
  EXPECT_NE(fault("[data]\nmin_seconds = 3\nmax_seconds = 2").find("recipe.toml:2"),
            std::string::npos);
  EXPECT_NE(fault("[text]\nalphabet = 'aba'").find("recipe.toml:2: text.alphabet holds 'a' twice"),
            std::string::npos);
  EXPECT_NE(fault("[text]\nalphabet = 'aÖ'").find("text.fold = lower turns into 'ö'"),
            std::string::npos);
  EXPECT_NE(fault("[text]\nremove = '.A'").find("recipe.toml:2: text.remove holds 'A', which"),
            std::string::npos);
  EXPECT_NE(
      fault("[text]\nremove = '.'\nalphabet = 'a.'").find("recipe.toml:3: text.alphabet holds"),
      std::string::npos);
  EXPECT_NE(
      fault("[text]\nkind = 'sentencepiece'").find("recipe.toml:2: text.kind = sentencepiece"),
      std::string::npos);
  EXPECT_NE(fault("[text]\nmodel = 'a.model'").find("recipe.toml:2: text.model needs text.kind"),
            std::string::npos);
  EXPECT_EQ(fault("[text]\nkind = 'sentencepiece'\nmodel = 'a.model'\nalphabet = 'aba'"),
            "accepted");
  EXPECT_NE(fault("[features]\nfft = 319").find("below the window's 320"), std::string::npos);
  EXPECT_NE(fault("[lr_schedule]\nkind = 'cosine'\ntotal_steps = 9\nmin_lr = 0.1")
                .find("recipe.toml:4: lr_schedule.min_lr = 0.1 is above optimizer.learning_rate"),
            std::string::npos);
  EXPECT_EQ(fault("[lr_schedule]\nkind = 'constant'\nmin_lr = 0.1"), "accepted");
  EXPECT_NE(fault("[features]\nkind = 'log-mel'\nmels = 162")
                .find("recipe.toml:3: features.mels = 162 is above the 161 bins"),
            std::string::npos);
  EXPECT_EQ(fault("[features]\nkind = 'log-mel'\nmels = 161"), "accepted");
  EXPECT_EQ(fault("[features]\nkind = 'fbank'\nmels = 257"), "accepted");  // of 512 points
  EXPECT_NE(fault("[features]\nkind = 'fbank'\nmels = 258")
                .find("recipe.toml:3: features.mels = 258 is above the 257 bins"),
            std::string::npos);
  for (const char* set : {"preemphasis = 0.97", "normalise = 'channel'", "last_frame = false"}) {
    const std::string waveform = fault(std::string("[features]\nkind = 'waveform'\n") + set);
    EXPECT_NE(waveform.find("has no effect with features.kind = waveform"), std::string::npos)
        << set << ": " << waveform;
    EXPECT_NE(waveform.find("recipe.toml:3: "), std::string::npos) << waveform;
    EXPECT_EQ(fault(std::string("[features]\nkind = 'log-mel'\n") + set), "accepted") << set;
  }
  EXPECT_EQ(fault("[features]\nkind = 'waveform'\nnormalise = 'utterance'"), "accepted");
  EXPECT_NE(fault("", {"trainer.lanes=1", "pipeline.replicas=2"}).find("without a lane"),
            std::string::npos);
  EXPECT_NE(fault("", {"data.micro_batches=1", "trainer.lanes=2"}).find("too few for 2 lanes"),
            std::string::npos);
  EXPECT_NE(fault("[optimizer]\nkind = 'lamb'\nlarc = 0.01").find("recipe.toml:3: optimizer.larc"),
            std::string::npos);
}

TEST(Load, ValidationHearsEachUtteranceOnce) {
  EXPECT_EQ(fault("[data]\nvalidation = ['a.jsonl', {manifest = 'b.jsonl', weight = 1}]"),
            "accepted");
  EXPECT_EQ(fault("", {"data.validation=[a.jsonl, b.jsonl]"}), "accepted");
  EXPECT_EQ(fault("", {"data.validation="}), "accepted");
  EXPECT_NE(
      fault("[data]\nvalidation = [{manifest = 'b.jsonl', weight = 2}]")
          .find("recipe.toml:2: data.validation has a weight of 2, but each of its utterances "
                "is heard once: name b.jsonl without weight and group"),
      std::string::npos);
  EXPECT_NE(fault("[data]\nvalidation = [{manifest = 'b.jsonl', group = 'de'}]")
                .find("data.validation has the group de"),
            std::string::npos);
}

TEST(Load, EarlyStoppingNeedsValidations) {
  const std::string patience = "trainer.early_stopping_patience=5",
                    data = "data.validation=v.jsonl";
  const std::string threshold = "trainer.early_stopping_threshold=0.01";
  EXPECT_EQ(fault("", {patience, data, threshold}), "accepted");
  // A patience of 0 on the command line turns both off.
  EXPECT_EQ(fault("", {data, threshold, "trainer.early_stopping_patience=0"}), "accepted");
  for (const auto& [overrides, said] :
       std::vector<std::pair<std::vector<std::string>, const char*>>{
           {{patience},
            "trainer.early_stopping_patience = 5 counts validations, but "
            "data.validation is empty: name a manifest there, or set "
            "trainer.early_stopping_patience=0"},
           {{patience, data, "trainer.validate_every=-1"},
            "but trainer.validate_every = -1 makes none: set 0 for one after each epoch, or set "
            "trainer.early_stopping_patience=0"},
           {{"trainer.best_metric=per"},
            "trainer.best_metric = per, but it takes one of wer, cer, loss"}}) {
    const std::string found = fault("", overrides);
    EXPECT_NE(found.find(said), std::string::npos) << found;
  }
}

TEST(Load, NeedsTheModelOfByteLevelBpe) {
  EXPECT_NE(fault("[text]\nkind = 'bpe'").find("recipe.toml:2: text.kind = bpe needs"),
            std::string::npos);
  EXPECT_EQ(fault("[text]\nkind = 'bpe'\nmodel = 'a.json'"), "accepted");
}

TEST(Load, RejectsKeysThatWhispersFeaturesIgnore) {
  for (const std::string key : {"normalise = 'channel'", "last_frame = false", "epsilon = 1e-5"})
    EXPECT_NE(fault("[features]\nkind = 'whisper-30s'\n" + key)
                  .find("has no effect with features.kind = whisper-30s"),
              std::string::npos)
        << key;
}

TEST(Load, ScalingNeedsMicroBatchesThatMayChange) {
  const std::string fault_of_batch =
      fault("[data]\nbatch_seconds = 96\n[trainer]\nscaling = 'linear'");
  EXPECT_NE(fault_of_batch.find("recipe.toml:4: trainer.scaling = linear needs a step that "
                                "data.micro_batches and data.micro_batch_seconds divide"),
            std::string::npos)
      << fault_of_batch;
  EXPECT_NE(fault("[data]\nmicro_batches = 2\n[trainer]\nscaling = 'sqrt'\norder = [1, 0]")
                .find("leave one of them out"),
            std::string::npos);
  EXPECT_EQ(parsed("[trainer]\nscaling = 'sqrt'").trainer.scaling, "sqrt");
}

TEST(Load, EveryRecipeAndModelLoads) {
  for (const auto& entry : std::filesystem::directory_iterator(test::source("configs/recipes"))) {
    EXPECT_NO_THROW(load_config(entry.path(), layers::model_families())) << entry.path();
  }
  for (const std::string& model : model_names()) {
    EXPECT_EQ(
        load_config("", layers::model_families(), Overrides{"model.base=" + model}).model.base,
        model);
  }
}

/// toml++ destroys tables by recursion, which overflowed the stack.
TEST(Load, RejectsKeysThatNestTooDeeply) {
  std::string key = "a";
  for (int i = 0; i < 1'000'000; ++i) key += ".a";
  EXPECT_EQ(
      fault("[" + key + "]\n"),
      "the configuration can't be used:\n  recipe.toml:1: not TOML: keys and values nest deeper "
      "than 128");
}

TEST(ParseConfig, RawAudioHasNothingToMask) {
  for (const std::string key : {"freq_masks", "time_masks", "time_warp"})
    EXPECT_NE(
        fault("[model]\nfeatures = 1\n[features]\nkind = 'waveform'\n[augment]\n" + key + " = 2")
            .find("augment." + key + " = 2 changes channels and frames"),
        std::string::npos)
        << key;
}

TEST(ParseConfig, RangesOfAugmentationHaveTwoEnds) {
  EXPECT_EQ(fault("[augment]\ngain_db = [-6, 6]\nnoise_snr_db = [0, 0]\ncodecs = ['opus-12']"),
            "accepted");
  for (const std::string range : {"[1]", "[1, 2, 3]", "[2, 1]"})
    EXPECT_NE(fault("[augment]\nnoise_snr_db = " + range).find("is no range"), std::string::npos)
        << range;
  EXPECT_NE(fault("[augment]\ngain_db = [3]").find("augment.gain_db = [3] is no range"),
            std::string::npos);
  EXPECT_NE(fault("[augment]\ncodecs = ['mp3']").find("augment.codecs has \"mp3\""),
            std::string::npos);
}

TEST(ParseConfig, AdaptersNeedARankAndLayers) {
  EXPECT_NE(fault("[lora]\nrank = 4").find("set lora.targets"), std::string::npos);
  for (const std::string key : {"targets", "train"})
    EXPECT_NE(fault("[lora]\n" + key + " = ['*']").find("lora." + key + " has no effect"),
              std::string::npos);
  EXPECT_EQ(fault("[lora]\nrank = 4\ntargets = ['*.qkv']"), "accepted");
}

TEST(ParseConfig, ADecoderNeedsDurationsThatAscend) {
  const std::string tdt = "[model]\ndecoder = 'tdt'\n[decoder]\ndurations = ";
  for (const char* durations : {"[]", "[0]", "[1, 1]", "[2, 1]", "[0, 2]"})
    EXPECT_NE(fault(tdt + durations).find("decoder.durations must ascend"), std::string::npos)
        << durations;
  EXPECT_EQ(fault(tdt + "[0, 1, 3]"), "accepted");
  const std::string stateless = "[model]\ndecoder = 'rnnt'\n[decoder]\nprediction = 'stateless'\n";
  EXPECT_NE(fault(stateless + "width = 30").find("choose decoder.width=32"), std::string::npos);
  EXPECT_EQ(fault(stateless + "width = 30\ncontext = 1"), "accepted");
  EXPECT_NE(fault("[decoder]\nwidth = 64").find("set another model.decoder"), std::string::npos);
  EXPECT_NE(fault("[decoder]\nctc_weight = 0.3").find("set another model.decoder"),
            std::string::npos);
  const std::string beside = "[model]\ndecoder = 'rnnt'\n[decoder]\nctc_weight = ";
  EXPECT_EQ(fault(beside + "0.3"), "accepted");
  EXPECT_NE(fault(beside + "1").find("decoder.ctc_weight = 1, but it takes"), std::string::npos);
}

}  // namespace
}  // namespace penstock::configs
