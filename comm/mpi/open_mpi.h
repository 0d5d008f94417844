#pragma once

namespace penstock::comm {

/// Sets environment variables for Open MPI. Call it before MPI starts. Variables (OMPI_MCA_…) that
/// are already set keep their values; other MPI libraries ignore them.
///
/// Ranks compute while messages move. By default a long message leaves in three fragments of 32 KiB
/// at each poll of its sender, which polls about every millisecond, so the settings raise both.
/// Ranks that mpirun started on one machine exchange messages through shared memory alone, and
/// listen on no network.
void set_open_mpi_defaults();

}  // namespace penstock::comm
