"""Libraries that Debian and Python packages carry: linked with a case's own driver, or built as extensions."""

from __future__ import annotations

import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench.cache import SubjectError, kept, run
from bench.registries import debian_source, python_source

_DEBUG = "-g -O2"
_JOBS = os.cpu_count() or 1
_CPLUSPLUS = (".cc", ".cpp")


@dataclass(frozen=True)
class Library:
    """What becomes of a source distribution. Paths are patterns in the library's folder.

    Versions are fixed: a case names the line of a mistake, which the next release may have mended.
    """

    distribution: str
    headers: tuple[str, ...]  # folders
    sources: tuple[str, ...] = ()
    no_sources: tuple[str, ...] = ()  # among those: tests and tools
    options: tuple[str, ...] = ()  # of the compiler
    inside: str = ""  # an archive in the distribution that holds the library
    steps: tuple[tuple[str, ...], ...] = ()  # of the library's build system, instead of sources; {flags} is filled in
    made: str = ""  # the archive that the steps make
    needs: tuple[str, ...] = ()  # libraries of the system, as the linker is told
    in_debian: bool = False  # the distribution is a Debian source package


def _cmake(
    *options: str, target: str = "", source: str = "", language: str = "C"
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The target, or all, of what the folder `source` holds, in the folder `build`."""
    configure = ("-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_{language}_FLAGS={{flags}}", *options)
    where = ((f"-S{source}",) if source else ()) + ("-Bbuild",)
    return ("cmake", *where, *configure), ("make", "-s", f"-j{_JOBS}", "-Cbuild", *((target,) if target else ()))


def _jq(distribution: str, version: str) -> Library:
    configure = ("./configure", "-q", "--disable-maintainer-mode", "--disable-docs", "--without-oniguruma")
    return Library(
        distribution,
        headers=("src",),
        inside=f"deps/jq-{version}.tar.gz",
        steps=((*configure, "--disable-shared", "CFLAGS={flags}"), ("make", "-s", f"-j{_JOBS}")),
        made=".libs/libjq.a",
    )


def _cares(distribution: str) -> Library:
    return Library(
        distribution,
        headers=("deps/c-ares/include", "build"),
        steps=_cmake("-DCARES_STATIC=ON", "-DCARES_SHARED=OFF", "-DCARES_BUILD_TOOLS=OFF", source="deps/c-ares"),
        made="build/lib/libcares.a",
    )  # fmt: skip


def _quickjs(distribution: str, version: str) -> Library:
    return Library(
        distribution,
        headers=("third-party",),
        sources=("third-party/*.c",),
        options=("-D_GNU_SOURCE", f'-DCONFIG_VERSION="{version}"'),
    )


def _lz4(distribution: str) -> Library:
    return Library(distribution, headers=("lz4libs",), sources=("lz4libs/lz4.c", "lz4libs/lz4hc.c"))


def _yara(distribution: str, *more_modules: str) -> Library:
    modules = ("elf", "math", "pe", "tests", "time", *more_modules)
    parts = ("*.c", "proc/linux.c", *(f"modules/{name}/*.c" for name in modules))
    return Library(
        distribution,
        headers=("yara/libyara/include", "yara/libyara"),
        sources=tuple(f"yara/libyara/{part}" for part in parts),
        options=("-D_GNU_SOURCE", "-DUSE_LINUX_PROC", "-DNDEBUG", "-DBUCKETS_128=1", "-DCHECKSUM_1B=1"),
    )


def _zstd(distribution: str) -> Library:
    return Library(distribution, headers=("zstd",), sources=("zstd/zstdlib.c",), options=("-DZSTD_MULTITHREAD",))


LIBRARIES = {
    "ann": Library("ann", headers=("include",), sources=("src/*.cpp",), in_debian=True),
    # Nothing but a header: an archive of nothing is linked.
    "annoy": Library(
        "annoy==1.17.3", headers=("src",), steps=(("ar", "rcs", "library.a"),), made="library.a"
    ),
    # Its hash table alone, which is a header.
    "borg-hashindex": Library(
        "borgbackup==1.1.18",
        headers=("src/borg",),
        steps=(("ar", "rcs", "library.a"),),
        made="library.a",
        options=("-DBORG_NO_PYTHON",),
    ),
    "c-ares-1.18": _cares("pycares==4.5.0"),
    "c-ares-1.34": _cares("pycares==4.8.0"),
    "chipmunk": Library(
        "chipmunk", headers=("include",), sources=("src/*.c",), options=("-std=gnu99", "-DNDEBUG"), in_debian=True
    ),
    "cjson": Library("cjson", headers=(".",), sources=("cJSON.c",), in_debian=True),
    "curl": Library(
        "curl",
        headers=("include",),
        steps=_cmake(
            "-DBUILD_SHARED_LIBS=OFF", "-DBUILD_CURL_EXE=OFF", "-DHTTP_ONLY=ON", "-DCURL_ENABLE_SSL=OFF",
            "-DCURL_ZLIB=OFF", "-DUSE_LIBIDN2=OFF", "-DCURL_USE_LIBPSL=OFF", "-DCURL_USE_LIBSSH2=OFF",
            target="libcurl",
        ),
        made="build/lib/libcurl.a",
        in_debian=True,
    ),
    "duktape": Library("duktape", headers=("src",), sources=("src/duktape.c",), in_debian=True),
    # Nothing but a header: an archive of nothing is linked.
    "earcut": Library(
        "mapbox_earcut==1.0.1", headers=("include",), steps=(("ar", "rcs", "library.a"),), made="library.a"
    ),
    "freetype": Library(
        "freetype",
        headers=("include",),
        steps=_cmake(*(f"-DFT_DISABLE_{part}=ON" for part in ("ZLIB", "BZIP2", "PNG", "HARFBUZZ", "BROTLI"))),
        made="build/libfreetype.a",
        in_debian=True,
    ),
    "gdbm": Library(
        "gdbm",
        headers=("src",),
        steps=(
            ("./configure", "-q", "--disable-nls", "--disable-shared", "--without-readline", "CFLAGS={flags}"),
            ("make", "-s", f"-j{_JOBS}", "-Csrc"),
        ),
        made="src/.libs/libgdbm.a",
        in_debian=True,
    ),
    # Its hash tables alone; all else is the system's.
    "glib-hash-tables": Library(
        "glib2.0",
        headers=("glib", "."),
        steps=(
            ("sh", "-c",
             "touch config.h; cp $(pkg-config --variable=libdir glib-2.0)/glib-2.0/include/glibconfig.h ."),
        ),
        sources=("glib/ghash.c",),
        options=("-DGLIB_COMPILATION", "-I/usr/include/glib-2.0"),
        needs=("-lglib-2.0",),
        in_debian=True,
    ),
    # Its strings alone; all else is the system's. One of their functions calls what the system's keeps to itself.
    "glib-strings": Library(
        "glib2.0",
        headers=("glib", "."),
        steps=(
            ("sh", "-c",
             "touch config.h; cp $(pkg-config --variable=libdir glib-2.0)/glib-2.0/include/glibconfig.h ."),
        ),
        sources=("glib/gstring.c",),
        options=("-DGLIB_COMPILATION", "-I/usr/include/glib-2.0"),
        needs=("-lglib-2.0", "-Wl,--defsym=_uri_encoder=0"),
        in_debian=True,
    ),
    "gumbo": Library("html5-parser==0.5.0", headers=("gumbo",), sources=("gumbo/*.c",)),
    "harfbuzz": Library("harfbuzz", headers=("src",), sources=("src/harfbuzz.cc",), in_debian=True),
    "hiredis": Library(
        "hiredis", headers=(".",), sources=("hiredis.c", "read.c", "sds.c", "net.c", "alloc.c"), in_debian=True
    ),
    "hoedown": Library("misaka==2.1.1", headers=("misaka/hoedown",), sources=("misaka/hoedown/*.c",)),
    "htslib": Library(
        "htslib",
        headers=(".",),
        steps=(
            ("autoreconf", "-i"),
            ("./configure", "-q", "--disable-bz2", "--disable-lzma", "--disable-libcurl", "--without-libdeflate",
             "--with-external-htscodecs", "CFLAGS={flags}"),
            ("make", "-s", f"-j{_JOBS}", "libhts.a"),
        ),
        made="libhts.a",
        needs=("-lhtscodecs", "-lz"),
        in_debian=True,
    ),
    "hunspell": Library(
        "hunspell", headers=("src/hunspell",), sources=("src/hunspell/*.cxx",), in_debian=True
    ),
    "jemalloc": Library(
        "jemalloc",
        headers=("include",),
        steps=(
            ("./configure", "-q", "--with-jemalloc-prefix=je_", "--disable-cxx", "--disable-doc", "CFLAGS={flags}"),
            ("make", "-s", f"-j{_JOBS}", "lib/libjemalloc.a"),
        ),
        made="lib/libjemalloc.a",
        in_debian=True,
    ),
    "jq-1.6": _jq("jq==1.5.0", "1.6"),
    "jq-1.7": _jq("jq==1.6.0", "1.7"),
    "leveldb": Library(
        "leveldb==0.201",
        headers=("leveldb/include", "leveldb"),
        sources=("leveldb/db/*.cc", "leveldb/port/*.cc", "leveldb/table/*.cc", "leveldb/util/*.cc"),
        no_sources=("*_test.cc", "test*.cc", "db_bench.cc", "leveldbutil.cc"),
        options=("-DOS_LINUX", "-DLEVELDB_PLATFORM_POSIX", "-DNDEBUG", "-fno-builtin-memcmp"),
    ),
    "libyaml": Library(
        "ruamel.yaml.clib==0.2.8", headers=(".",), sources=("[!_]*.c",), options=("-DHAVE_CONFIG_H",)
    ),
    "jsoncpp": Library("libjsoncpp", headers=("include",), sources=("src/lib_json/*.cpp",), in_debian=True),
    "json-c": Library(
        "json-c",
        headers=("build", "."),
        steps=_cmake("-DBUILD_SHARED_LIBS=OFF", "-DDISABLE_WERROR=ON", target="json-c"),
        made="build/libjson-c.a",
        in_debian=True,
    ),
    "libconfig": Library(
        "libconfig", headers=("lib",), sources=("lib/*.c",), options=("-DHAVE_STRDUP", "-D_GNU_SOURCE"), in_debian=True
    ),
    # Without the two headers that its build system would make.
    "libexif": Library(
        "libexif",
        headers=(".",),
        sources=("libexif/*.c", "libexif/*/*.c"),
        steps=(("touch", "config.h"), ("sh", "-c", "echo '#include <stdint.h>' > libexif/_stdint.h")),
        options=("-DGETTEXT_PACKAGE=\"libexif\"", "-DLOCALEDIR=\"\""),
        in_debian=True,
    ),
    "liblzma": Library(
        "xz-utils",
        headers=("src/liblzma/api",),
        steps=_cmake("-DBUILD_SHARED_LIBS=OFF", target="liblzma"),
        made="build/liblzma.a",
        in_debian=True,
    ),
    "libplist": Library(
        "libplist",
        headers=("include", "src", "libcnary/include"),
        sources=("src/*.c", "libcnary/*.c"),
        no_sources=("cnary.c",),
        options=("-D_GNU_SOURCE", "-DHAVE_MEMMEM", "-DHAVE_GMTIME_R", "-DHAVE_LOCALTIME_R"),
        in_debian=True,
    ),
    "libtommath": Library("libtommath", headers=(".",), sources=("bn_*.c",), in_debian=True),
    "kissfft": Library(
        "kissfft", headers=(".",), sources=("kiss_fft.c",), options=("-Dkiss_fft_scalar=float",), in_debian=True
    ),
    "libdeflate": Library(
        "libdeflate", headers=(".",), sources=("lib/*.c", "lib/x86/*.c", "lib/arm/*.c"), in_debian=True
    ),
    "libsvm": Library("libsvm-official==3.37.0", headers=("cpp-source",), sources=("cpp-source/svm.cpp",)),
    "libuv": Library(
        "uvloop==0.17.0",
        headers=("vendor/libuv/include",),
        steps=_cmake("-DLIBUV_BUILD_TESTS=OFF", target="uv_a", source="vendor/libuv"),
        made="build/libuv_a.a",
    ),
    # Its names of resources alone; all else is the system's.
    "libx11-quarks": Library(
        "libx11",
        headers=("include", "include/X11", "src"),
        sources=("src/Quarks.c", "src/reallocarray.c"),
        needs=("-lX11",),
        in_debian=True,
    ),
    "lmdb": Library("lmdb==1.4.1", headers=("lib",), sources=("lib/*.c",)),
    "lz4-1.7.5": _lz4("lz4==0.10.0"),
    "lz4-1.8.1": _lz4("lz4==1.0.0"),
    "mappy": Library(
        "mappy==2.24",
        headers=(".",),
        sources=("*.c",),
        no_sources=("main.c", "ksw2_dispatch.c"),
        options=("-DHAVE_KALLOC", "-msse4.1"),
        needs=("-lz",),
    ),
    "mbedtls": Library(
        "mbedtls", headers=("include", "library"), sources=("library/*.c",), in_debian=True
    ),
    "mxml": Library(
        "mxml",
        headers=(".",),
        steps=(("./configure", "-q", "--disable-shared", "CFLAGS={flags}"), ("make", "-s", "libmxml.a")),
        made="libmxml.a",
        in_debian=True,
    ),
    "nghttp2": Library(
        "nghttp2",
        headers=("lib/includes", "build/lib/includes"),
        steps=_cmake(
            "-DENABLE_LIB_ONLY=ON", "-DENABLE_STATIC_LIB=ON", "-DENABLE_SHARED_LIB=OFF", target="nghttp2_static"
        ),
        made="build/lib/libnghttp2.a",
        in_debian=True,
    ),
    # Nothing but headers: an archive of nothing is linked.
    "nlohmann-json": Library(
        "nlohmann-json3", headers=("include",), steps=(("ar", "rcs", "library.a"),), made="library.a", in_debian=True
    ),
    "onig": Library(
        "libonig",
        headers=("src",),
        steps=_cmake("-DBUILD_SHARED_LIBS=OFF", "-DBUILD_TEST=OFF", target="onig"),
        made="build/libonig.a",
        in_debian=True,
    ),
    "pcre": Library(
        "pcre3",
        headers=("build",),
        steps=_cmake(
            "-DPCRE_BUILD_PCREGREP=OFF", "-DPCRE_BUILD_TESTS=OFF", "-DPCRE_BUILD_PCRECPP=OFF", target="pcre"
        ),
        made="build/libpcre.a",
        in_debian=True,
    ),
    "pcre2": Library(
        "pcre2",
        headers=("build",),
        steps=_cmake("-DPCRE2_BUILD_PCRE2GREP=OFF", "-DPCRE2_BUILD_TESTS=OFF"),
        made="build/libpcre2-8.a",
        in_debian=True,
    ),
    "pugixml": Library("pugixml", headers=("src",), sources=("src/pugixml.cpp",), in_debian=True),
    "quickjs-2020-09-06": _quickjs("quickjs==1.15.0", "2020-09-06"),
    "quickjs-2021-03-27": _quickjs("quickjs==1.17.0", "2021-03-27"),
    # Debian's source comes without the tables.
    "re2": Library(
        "re2",
        headers=(".",),
        sources=("re2/*.cc", "util/rune.cc", "util/strutil.cc"),
        steps=(
            ("sh", "-c", "perl re2/make_perl_groups.pl > re2/perl_groups.cc"),
            ("sh", "-c", "python3 re2/make_unicode_groups.py > re2/unicode_groups.cc"),
            ("sh", "-c", "python3 re2/make_unicode_casefold.py > re2/unicode_casefold.cc"),
        ),
        in_debian=True,
    ),
    "roaring": Library("pyroaring==1.2.0", headers=("pyroaring",), sources=("pyroaring/roaring.c",)),
    # Its resampler alone.
    "speex-resampler": Library(
        "speexdsp",
        headers=("include/speex", "libspeexdsp"),
        sources=("libspeexdsp/resample.c",),
        options=("-DOUTSIDE_SPEEX", "-DRANDOM_PREFIX=own", "-DFLOATING_POINT"),
        in_debian=True,
    ),
    "taglib": Library(
        "taglib",
        headers=("build", "taglib", "taglib/toolkit", "taglib/ogg", "taglib/ogg/flac", "taglib/flac"),
        steps=_cmake(
            "-DBUILD_SHARED_LIBS=OFF", "-DBUILD_BINDINGS=OFF", "-DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON", target="tag",
            language="CXX",
        ),
        made="build/taglib/libtag.a",
        in_debian=True,
    ),
    "tinyxml2": Library("tinyxml2", headers=(".",), sources=("tinyxml2.cpp",), in_debian=True),
    "yaml-cpp": Library("yaml-cpp", headers=("include",), sources=("src/*.cpp",), in_debian=True),
    "yara-4.1": _yara("yara-python==4.1.3"),
    "yara-4.2": _yara("yara-python==4.2.0", "console"),
    "zlib": Library("zlib", headers=(".",), sources=("*.c",), options=("-DHAVE_UNISTD_H",), in_debian=True),
    "zstd-1.5.1": _zstd("zstandard==0.17.0"),
    "zstd-1.5.2": _zstd("zstandard==0.18.0"),
}  # fmt: skip

EXTENSIONS = {"multidict": "multidict==6.7.1"}


def driven(
    library: str,
    driver: Path,
    flags: str = "",
    compilers: tuple[str, str] = ("gcc", "g++"),
    patch: Path | None = None,
) -> Path:
    """A program: the driver, a source file of ours, linked with the library, which keeps its debug information."""
    recipe = LIBRARIES[library]
    home = _library(library, flags, compilers, patch)
    options = ["-Wall", "-Wextra", "-Werror", *_DEBUG.split(), *flags.split(), *recipe.options]
    headers = [f"-isystem{home / folder}" for folder in recipe.headers]

    def make(folder: Path) -> None:
        # A C++ library needs the C++ runtime, so that its driver has to be C++ as well.
        compiler = compilers[driver.suffix in _CPLUSPLUS]
        made = home / recipe.made if recipe.made else home / "library.a"
        run(
            [compiler, *options, *headers, "-o", folder / driver.stem, driver, made, *recipe.needs, "-lpthread", "-lm"],
            folder,
        )

    edits = [patch] if patch else []
    return kept(f"{library}-{driver.stem}", [*options, *compilers, *_words(recipe), driver, *edits], make) / driver.stem


def extension(name: str) -> Path:
    """The folder that holds an importable Python package, its extension built with debug information."""
    distribution = EXTENSIONS[name]

    def make(folder: Path) -> None:
        source = folder / "source"
        shutil.copytree(python_source(distribution), source)
        install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", f"--target={folder / 'packages'}"]
        run([*install, source], folder, {"CFLAGS": _DEBUG})

    return kept(f"extension-{name}", [distribution, sys.version, _DEBUG], make) / "packages"


def _library(name: str, flags: str, compilers: tuple[str, str], patch: Path | None) -> Path:
    """The library's folder, its archive of objects in it."""
    recipe = LIBRARIES[name]
    given = f"{_DEBUG} {flags}".strip()

    def make(folder: Path) -> None:
        source = (debian_source if recipe.in_debian else python_source)(recipe.distribution)
        if recipe.inside:
            (folder / "unpacked").mkdir()
            run(["tar", "-xf", source / recipe.inside], folder / "unpacked")
            (source,) = (folder / "unpacked").iterdir()
        shutil.copytree(source, folder, dirs_exist_ok=True, symlinks=True)
        if patch:
            run(["patch", "--strip=1", f"--input={patch}"], folder)
        for step in recipe.steps:
            run([word.format(flags=given) for word in step], folder, {"CC": compilers[0], "CXX": compilers[1]})
        if recipe.sources:
            _archive(recipe, folder, given.split(), compilers)

    edits = [patch] if patch else []
    return kept(f"library-{name}", [given, *compilers, *_words(recipe), *edits], make)


def _archive(recipe: Library, folder: Path, flags: list[str], compilers: tuple[str, str]) -> None:
    units = [path for pattern in recipe.sources for path in sorted(folder.glob(pattern))]
    units = [path for path in units if not any(path.match(pattern) for pattern in recipe.no_sources)]
    if not units:
        raise SubjectError(f"{recipe.distribution} holds none of {', '.join(recipe.sources)}.")
    headers = [f"-I{folder / place}" for place in recipe.headers]

    def compile_one(unit: Path) -> Path:
        compiler = compilers[unit.suffix in _CPLUSPLUS]
        made = unit.with_suffix(".o")
        run([compiler, "-w", *flags, *recipe.options, *headers, "-c", "-o", made, unit], folder)
        return made

    with ThreadPoolExecutor(_JOBS) as pool:
        objects = list(pool.map(compile_one, units))
    run(["ar", "rcs", "library.a", *objects], folder)


def _words(recipe: Library) -> list[str]:
    """What of a recipe changes what comes out."""
    steps = [word for step in recipe.steps for word in step if not word.startswith("-j")]
    patterns = [*recipe.headers, *recipe.sources, *recipe.no_sources]
    return [recipe.distribution, recipe.inside, *patterns, *recipe.options, *steps, recipe.made, *recipe.needs]
