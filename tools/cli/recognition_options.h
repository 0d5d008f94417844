#pragma once

#include "runtime/corpus/corpus_window.h"
#include "runtime/recognise/recognise.h"

namespace CLI {
class App;
}  // namespace CLI

namespace penstock::tools {

/// Adds the options that evaluate and transcribe share: --threads, --replicas, --window, --verify.
void takes_recognition(CLI::App* command, runtime::Trained& trained, runtime::WindowBounds& window);

}  // namespace penstock::tools
