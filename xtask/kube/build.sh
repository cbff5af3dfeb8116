#!/bin/bash
# build.sh DIR: builds DIR/bin/kube-apiserver from Debian's own source package `kubernetes`, with Debian's Go. As root, on
# Debian bookworm; takes minutes and about 2 GB. /etc/apt stays as it is: sources come through a list of their own.
set -euo pipefail
dir=$(mkdir -p "$1" && cd "$1" && pwd)
version='1.20.5+really1.20.2-1.1+deb12u1'
export DEBIAN_FRONTEND=noninteractive

apt-get update -qq
apt-get install -y -qq --no-install-recommends golang-go rsync make golang-github-modern-go-reflect2-dev >/dev/null

mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial"
{
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | sed -n 's/^deb /deb-src /p' || true
  for file in /etc/apt/sources.list.d/*.sources; do
    awk '/^URIs:/ { uri = $2 }
      /^Suites:/ { for (i = 2; i <= NF; i++)
        print "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]", uri, $i, "main" }' "$file"
  done
} | grep 'bookworm ' | head -1 >"$dir/apt/src.list"
options=(-o "Dir::Etc::SourceList=$dir/apt/src.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$dir/apt/lists"
  -o "Dir::Cache=$dir/apt/cache" -o APT::Sandbox::User=root)
apt-get "${options[@]}" update -qq
cd "$dir"
apt-get "${options[@]}" source -qq -d --only-source "kubernetes=$version" >/dev/null
rm -rf src
mkdir src
tar xzf kubernetes_*.orig.tar.gz -C src --strip-components=1
cd src

# The reflect2 that it brings crashes with Go from 1.18 on; Debian's doesn't.
rm -rf vendor/github.com/modern-go/reflect2
cp -r /usr/share/gocode/src/github.com/modern-go/reflect2 vendor/github.com/modern-go/
mkdir -p .go/src/k8s.io "$dir/home" "$dir/bin"
ln -sfn ../../.. .go/src/k8s.io/kubernetes
export GOPATH=$PWD/.go CGO_ENABLED=0 HOME=$dir/home GOPROXY=off GOSUMDB=off PATH=/usr/lib/go/bin:$PATH
export KUBE_GIT_VERSION=v1.20.2 KUBE_GIT_COMMIT=faecb196815e248d3ecfb03c680a4507229c2a56 KUBE_GIT_TREE_STATE=archive
make WHAT=cmd/kube-apiserver
cp _output/local/go/bin/kube-apiserver "$dir/bin/"
cd "$dir"
rm -rf src apt home kubernetes_*
