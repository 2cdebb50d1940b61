# What the tests marked `outside` need, set up under .outside/ and .venv-harbor, once. Sourced by `./run test --all`, which
# calls `prepare_outside` before the tests and `end_outside` after them. What can't be had is said, and its tests skip.
#
#   .outside/debian            a Debian root folder (debootstrap; root)
#   .outside/docker-config     the compose and buildx plug-ins of the docker program (Debian's newer release; root)
#   pasta                      the public network of bubblewrap sandboxes (passt; root)
#   a Docker engine            the one that answers, else one of our own (docker.io; root), ended with the tests
#   .venv-harbor               Harbor on Python 3.12, with this package in it

outside=$PWD/.outside
dockerd_pid=

installed() { command -v "$1" >/dev/null 2>&1; }

# apt_install PROGRAM PACKAGE...: installs the packages unless the program is there.
apt_install() {
    program=$1
    shift
    installed "$program" && return 0
    [ "$(id -u)" = 0 ] && installed apt-get || return 1
    say "Installing $* with apt-get..."
    [ -n "${apt_updated:-}" ] || apt-get -qq update || return 1
    apt_updated=1
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y "$@" >"$outside/apt.log" 2>&1 || {
        say "apt-get could not install $*; its log is .outside/apt.log"
        return 1
    }
}

prepare_outside() {
    mkdir -p "$outside"
    prepare_debian
    apt_install pasta passt || say "pasta (Debian: passt) can't be had; the tests of the public network of bubblewrap skip"
    prepare_docker
    prepare_plugins
    prepare_harbor
}

prepare_debian() {
    root=$outside/debian
    [ -f "$root.done" ] && return
    [ "$(id -u)" = 0 ] || { say "debootstrap wants root; the tests that need a Debian root skip"; return; }
    apt_install debootstrap debootstrap && apt_install git git || {
        say "debootstrap and git can't be had; the tests that need a Debian root skip"
        return
    }
    say "Building a Debian root folder with debootstrap (once; about a minute)..."
    rm -rf "$root"
    debootstrap --variant=minbase --include=python3,git,ca-certificates bookworm "$root" >"$outside/debootstrap.log" 2>&1 || {
        say "debootstrap failed; its log is .outside/debootstrap.log"
        tail -n 5 "$outside/debootstrap.log" >&2
        exit 1
    }
    touch "$root.done"
}

engine_answers() { .venv/bin/python -c 'import docker; docker.from_env(timeout=5).ping()' 2>/dev/null; }

prepare_docker() {
    engine_answers && return
    apt_install dockerd docker.io || { say "no Docker engine; the tests that need one skip"; return; }
    [ "$(id -u)" = 0 ] || { say "no Docker engine answers and only root can start one; the tests that need one skip"; return; }
    # Sockets below it must stay under 108 characters, so it doesn't lie in the checkout.
    engine=$(mktemp -d /run/envolve-engine.XXXXXX)
    export DOCKER_HOST="unix://$engine/docker.sock"
    dockerd --host "$DOCKER_HOST" --data-root "$outside/docker" --exec-root "$engine/exec" --pidfile "$engine/pid" \
        >"$outside/dockerd.log" 2>&1 &
    dockerd_pid=$!
    tries=0
    until engine_answers; do
        tries=$((tries + 1))
        if [ $tries -gt 60 ] || ! kill -0 "$dockerd_pid" 2>/dev/null; then
            say "dockerd does not come up; its log is .outside/dockerd.log"
            tail -n 5 "$outside/dockerd.log" >&2
            end_outside
            unset DOCKER_HOST
            return
        fi
        sleep 1
    done
}

# Debian's stable docker.io of 2023 brings neither plug-in; they are single programs and run beside it.
prepare_plugins() {
    plugins=$outside/docker-config/cli-plugins
    [ -x "$plugins/docker-compose" ] && { export DOCKER_CONFIG="$outside/docker-config"; return; }
    installed docker && docker compose version >/dev/null 2>&1 && return
    installed docker && [ "$(id -u)" = 0 ] && [ -f /etc/apt/sources.list.d/debian.sources ] || {
        say "docker compose can't be had; what compares with Harbor's Docker environment skips"
        return
    }
    apt=$outside/apt
    mkdir -p "$apt/sources" "$apt/lists/partial" "$apt/cache/archives/partial" "$plugins"
    sed -n '1,/^$/p' /etc/apt/sources.list.d/debian.sources | sed 's/^Suites:.*/Suites: trixie/' >"$apt/sources/debian.sources"
    set -- -qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/sources" -o "Dir::State::lists=$apt/lists" \
        -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root
    if apt-get "$@" update && (cd "$apt" && apt-get "$@" download docker-compose docker-buildx) >"$outside/apt.log" 2>&1; then
        for package in "$apt"/*.deb; do dpkg -x "$package" "$apt/unpacked"; done
        cp "$apt"/unpacked/usr/libexec/docker/cli-plugins/* "$plugins/"
        echo '{}' >"$outside/docker-config/config.json" # buildah wants it where DOCKER_CONFIG is set
        export DOCKER_CONFIG="$outside/docker-config"
    else
        say "docker compose can't be had (.outside/apt.log); what compares with Harbor's Docker environment skips"
    fi
    rm -rf "$apt"
}

python_312() {
    for candidate in "${PYTHON312:-}" python3.12 "$(pyenv root 2>/dev/null)"/versions/3.12*/bin/python; do
        [ -n "$candidate" ] && "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 12))' 2>/dev/null || continue
        printf '%s\n' "$candidate"
        return
    done
    return 1
}

prepare_harbor() {
    stamp=.venv-harbor/.envolve
    [ -f "$stamp" ] && cmp -s "$stamp" pyproject.toml && return
    python312=$(python_312) || {
        say "no Python 3.12 (name one with PYTHON312=...), so no Harbor; the tests that compare with Harbor skip"
        return
    }
    say "Setting up .venv-harbor (once; a minute or two)..."
    [ -x .venv-harbor/bin/python ] || "$python312" -m venv .venv-harbor
    .venv-harbor/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[docker,harbor]' || {
        say "Harbor can't be installed; the tests that compare with Harbor skip"
        rm -rf .venv-harbor
        return
    }
    cp pyproject.toml "$stamp"
}

# Ends what was started here, by its process id.
end_outside() {
    [ -n "$dockerd_pid" ] || return 0
    kill "$dockerd_pid" 2>/dev/null || true
    wait "$dockerd_pid" 2>/dev/null || true
    dockerd_pid=
    rm -rf "$engine"
}
