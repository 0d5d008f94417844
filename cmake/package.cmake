# cpack -G DEB: penstock_VERSION_amd64.deb, or penstock-cuda_VERSION_amd64.deb of a build with CUDA.
#
# dpkg-shlibdeps finds the packages that bring the program's libraries. It names CUDA's too where the building machine has
# them from packages, as of NVIDIA's repository. Debian has none of CUDA 13, so the description says what is needed.
block()

set(name penstock)
set(needs "")
if(PENSTOCK_WITH_CUDA)
  set(name penstock-cuda)
  set(needs "
.
This build computes on NVIDIA's GPUs, too. It needs a driver, and cudart and
cublasLt of CUDA ${CUDAToolkit_VERSION_MAJOR}, cuDNN 9 and NCCL 2 where the loader finds them, such as
from NVIDIA's repository.")
  # CUDA's libraries may belong to no package. dpkg-shlibdeps finds their files in these folders, and names no package.
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PENSTOCK_CUDA_FOLDERS})
  set(other penstock)
  set(CPACK_DEBIAN_PACKAGE_PROVIDES "penstock (= ${PROJECT_VERSION})")
else()
  set(other penstock-cuda)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ${name})
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "penstock's maintainers <maintainers@penstock.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS ${CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})
set(CPACK_STRIP_FILES ON)
# Everything is in this component; named, it leaves install_manifest.txt, which lists what a user has installed.
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};penstock;Unspecified;/")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS openmpi-bin)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS ca-certificates)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "bash-completion, python3")
set(CPACK_DEBIAN_PACKAGE_CONFLICTS ${other})
set(CPACK_DEBIAN_PACKAGE_REPLACES ${other})
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_LIST_DIR}/package/preinst")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "trains speech recognisers in pipeline stages and replicas
penstock cuts the layers of a speech recogniser into pipeline stages, runs
each stage in one or more data-parallel replicas, and starts as one mpirun
job. The same program plans the run for a cluster, trains, evaluates and
transcribes. It takes checkpoints from Hugging Face and gives them back.
.
It needs a processor of level x86-64-v3, with AVX2 and FMA.${needs}")

# The package alone has the files that Debian's policy asks for: cmake/package/add_policy_files.cmake.
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/package/add_policy_files.cmake")
set(CPACK_PENSTOCK_POLICY_FILES "${CMAKE_CURRENT_LIST_DIR}/package")
set(CPACK_PENSTOCK_RELEASED "${PENSTOCK_RELEASED}")
set(CPACK_PENSTOCK_DOCUMENTS "usr/${CMAKE_INSTALL_DATADIR}/doc/${name}")
include(CPack)

endblock()
