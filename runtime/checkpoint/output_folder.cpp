#include "runtime/checkpoint/output_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/file_handle.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/manifest.h"

// An output folder contains, besides the files of the trainer:
//
//   .lock                               locked by the run that writes here, see output_lock.h
//   checkpoint-000000600/               complete, since it has its final name
//   checkpoint-000000900.partial/       a save under way, or one that died
//   checkpoint-000000300.discarded/     a removal that died
//   checkpoint-000000600.replaced/      a replacement that died, see move_folder()
//   checkpoint-000000600.mislabelled/   set aside: its manifest states another step
//   checkpoint-000000900.broken/        set aside by a run that resumed from an earlier step
//   BEST, LATEST                        names of checkpoints
//
// The next save removes folders that end in .partial and .discarded, and those that end in
// .replaced if the checkpoint of that name is there. Otherwise it gives them that name. Those that
// were set aside are left to the user. Within a checkpoint:
//
//   manifest.json                       written last; it lists and hashes all other files
//   stage-0.safetensors, …              one shard for each rank that has something to save
//   tokenizer.model                     copy of text.model, for a text of pieces
//   kept.safetensors, huggingface/      kept parts of an imported model
//
// Each change of names is one system call, followed by a flush of the parent folder. So after a
// crash a checkpoint's name leads to a complete folder or to nothing.

namespace penstock::runtime {
namespace {

constexpr std::string_view kPrefix = "checkpoint-";

using Report = std::function<void(const std::string&)>;

std::filesystem::path with_suffix(std::filesystem::path path, const std::string& suffix) {
  path += suffix;
  return path;
}

/// Returns "<name>.mislabelled", followed by a number if that name is taken, so that nothing is
/// replaced.
std::filesystem::path free_name(const std::filesystem::path& path) {
  std::filesystem::path name = with_suffix(path, ".mislabelled");
  for (int n = 2; std::filesystem::exists(std::filesystem::symlink_status(name)); ++n)
    name = with_suffix(path, fmt::format(".mislabelled-{}", n));
  return name;
}

/// FileError if the system refuses.
void rename_or_raise(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    raise_errno(from, fmt::format("can't be renamed to {}", to.string()));
}

void remove_or_raise(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (!error) return;
  errno = error.value();
  raise_errno(path, "can't be removed");
}

/// Returns why the folder's name is wrong. Returns an empty text if the name is right, or if the
/// manifest cannot be read. Opening the checkpoint reports the latter.
std::string label_error(const StoredCheckpoint& stored) try {
  const std::int64_t step = read_manifest(stored.folder).state.step;
  if (step == stored.step) return {};
  return fmt::format(
      "its manifest says step {}, not {}: it is a copy, or of another run. As {} it would count",
      step, stored.step, checkpoint_name(step));
} catch (const Error&) {
  return {};
}

}  // namespace

std::string checkpoint_name(std::int64_t step) { return fmt::format("{}{:09}", kPrefix, step); }

// Up to 18 digits fit into 64 bits, so std::stoll() can't overflow. Suffixes such as ".partial" are
// no digits.
std::optional<std::int64_t> step_of_checkpoint(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string digits(name.substr(kPrefix.size()));
  if (digits.size() < 9 || digits.size() > 18 ||
      digits.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stoll(digits);
}

std::vector<StoredCheckpoint> list_checkpoints(const std::filesystem::path& output,
                                               const Report& report) {
  std::vector<StoredCheckpoint> found;
  std::error_code error, ignored;
  if (!std::filesystem::is_directory(output, error)) return found;
  for (std::filesystem::directory_iterator entry(output, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto step = step_of_checkpoint(entry->path().filename().string());
    if (!step) continue;
    if (entry->is_directory(ignored))
      found.push_back({*step, entry->path()});
    else
      report(fmt::format("{} is ignored: it has a checkpoint's name, but is no folder",
                         entry->path().string()));
  }
  if (error) throw_fault(output, fmt::format("can't be listed: {}", error.message()));
  std::ranges::sort(found, {}, &StoredCheckpoint::step);
  return found;
}

// The cost is one read of each manifest; shards are not touched.
std::vector<StoredCheckpoint> list_labelled(const std::filesystem::path& output,
                                            const Report& report) {
  std::vector<StoredCheckpoint> labelled = list_checkpoints(output, report);
  std::erase_if(labelled, [&](const StoredCheckpoint& stored) {
    const std::string wrong = label_error(stored);
    if (!wrong.empty()) report(fmt::format("{} is passed over: {}", stored.folder.string(), wrong));
    return !wrong.empty();
  });
  return labelled;
}

// The exchange leaves the old folder under the name `from`. A save's `from` ends in ".partial", so
// if a crash prevents its removal here, the next save removes it. The last branch is for file
// systems that can't exchange names. A crash between its two renames leaves the old folder as
// ".replaced" and no `to`; restore_replaced() then gives the old folder its name back.
void move_folder(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code kept;  // remains do no harm
  if (!std::filesystem::exists(to)) {
    rename_or_raise(from, to);
  } else if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
    std::filesystem::remove_all(from, kept);
  } else {
    const auto old = with_suffix(to, std::string(kReplaced));
    remove_or_raise(old);
    rename_or_raise(to, old);
    rename_or_raise(from, to);
    std::filesystem::remove_all(old, kept);
  }
  sync_folder(to.parent_path());
}

void restore_replaced(const std::filesystem::path& replaced) {
  const auto original = replaced.parent_path() / replaced.stem();
  if (std::filesystem::exists(original))
    remove_or_raise(replaced);
  else
    rename_or_raise(replaced, original);
}

// Removing a folder takes a call per file. The rename comes first, so that a crash in between never
// leaves a checkpoint with its name and without some of its files. The flush keeps the same order
// on the disk.
void discard_folder(const std::filesystem::path& folder) {
  const auto discarded = with_suffix(folder, ".discarded");
  remove_or_raise(discarded);
  rename_or_raise(folder, discarded);
  sync_folder(folder.parent_path());
  remove_or_raise(discarded);
}

// A checkpoint of the right step stays, as does one whose manifest can't be read: commit() replaces
// them. Anything else may be the user's own, such as a copy, and must not be lost.
void make_way(const StoredCheckpoint& stored) {
  std::error_code ignored;  // renaming reports errors
  if (!std::filesystem::exists(stored.folder, ignored)) return;
  if (std::filesystem::is_directory(stored.folder, ignored) && label_error(stored).empty()) return;
  move_folder(stored.folder, free_name(stored.folder));
}

// A rightly labelled checkpoint after `step` must be broken: otherwise the run would have resumed
// from it. An earlier ".broken" folder of that name is replaced, but a mislabelled one never.
void set_aside(const std::filesystem::path& output, std::int64_t step, const Report& note) {
  for (const StoredCheckpoint& stored : list_checkpoints(output)) {
    const std::string wrong = label_error(stored);
    if (wrong.empty() && stored.step <= step) continue;
    const std::filesystem::path aside =
        wrong.empty() ? with_suffix(stored.folder, ".broken") : free_name(stored.folder);
    std::error_code error;
    std::filesystem::remove_all(aside, error);
    move_folder(stored.folder, aside);
    note(fmt::format("{} is renamed to {}: {}", stored.folder.string(), aside.filename().string(),
                     wrong.empty() ? "it is broken" : wrong));
  }
}

std::filesystem::path nearest_existing(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path existing = std::filesystem::absolute(path);
  while (!std::filesystem::exists(existing, error) && existing.has_relative_path())
    existing = existing.parent_path();
  return existing;
}

// remove() fails for a folder that is not empty, and this failure ends the loop.
void remove_empty_folders(const std::filesystem::path& output, const std::filesystem::path& above) {
  std::error_code error;
  auto folder = std::filesystem::absolute(output);
  for (; folder != above && !error; folder = folder.parent_path())
    std::filesystem::remove(folder, error);
}

// Permission bits do not tell of read-only mounts, quotas or dead servers. Only a write does.
void probe_output(const std::filesystem::path& output) {
  std::error_code error;
  const std::filesystem::path existing = nearest_existing(output);
  make_output(output);
  const auto probe = output / ".probe";
  write_durably(probe, "written to see whether this folder can be written\n");
  if (!std::filesystem::remove(probe, error)) throw_fault(probe, "can't be removed");
  remove_empty_folders(output, existing);
}

void make_output(const std::filesystem::path& output) {
  std::error_code error;
  const std::filesystem::path existing = nearest_existing(output);
  const auto type = std::filesystem::symlink_status(existing, error).type();
  // Another run may have removed it meanwhile, which is no fault of the path.
  if (type == std::filesystem::file_type::not_found)
    throw FileError(output, fmt::format("{}: can't be made", output.string()),
                    std::errc::no_such_file_or_directory);
  if (type != std::filesystem::file_type::directory &&
      !std::filesystem::is_directory(existing, error))
    throw_fault(output,
                fmt::format("can't be an output folder: {} is not a folder", existing.string()));
  std::filesystem::create_directories(output, error);
  if (error)
    throw FileError(output, fmt::format("{}: can't be made: {}", output.string(), error.message()),
                    static_cast<std::errc>(error.value()));
}

}  // namespace penstock::runtime
