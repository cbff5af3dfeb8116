#!/bin/bash
# up.sh APISERVER DIR ETCD_PORT PEER_PORT PORT: etcd and kube-apiserver on loopback, with DIR/admin.kubeconfig and
# DIR/reader.kubeconfig (a token that may do nothing yet). What is started has its number in DIR/*.pid.
set -euo pipefail
apiserver=$1 dir=$2 etcd=http://127.0.0.1:$3 peers=http://127.0.0.1:$4 port=$5
mkdir -p "$dir/pki"
cd "$dir/pki"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-ca -keyout ca.key -out ca.crt \
  -addext 'keyUsage=critical,keyCertSign,cRLSign' 2>/dev/null
certificate() {
  openssl req -newkey rsa:2048 -nodes -subj "$2" -keyout "$1.key" -out "$1.csr" 2>/dev/null
  printf '%s\n' "$3" >"$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile "$1.ext" -out "$1.crt" 2>/dev/null
}
certificate apiserver /CN=kube-apiserver $'subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth'
certificate admin /O=system:masters/CN=admin extendedKeyUsage=clientAuth
openssl genrsa -out sa.key 2048 2>/dev/null
openssl rsa -in sa.key -pubout -out sa.pub 2>/dev/null
token=$(openssl rand -hex 16)
printf '%s,reader,1001\n' "$token" >tokens.csv
cd "$dir"
kubeconfig() {
  cat >"$dir/$1.kubeconfig" <<END
{apiVersion: v1, kind: Config, current-context: t, contexts: [{name: t, context: {cluster: t, user: u}}],
 clusters: [{name: t, cluster: {server: "https://127.0.0.1:$port", certificate-authority: $dir/pki/ca.crt}}],
 users: [{name: u, user: {$2}}]}
END
}
kubeconfig admin "client-certificate: $dir/pki/admin.crt, client-key: $dir/pki/admin.key"
kubeconfig reader "token: $token"
background() {
  local name=$1
  shift
  setsid nohup "$@" >"$dir/$name.log" 2>&1 </dev/null &
  echo $! >"$dir/$name.pid"
}
background etcd etcd --data-dir "$dir/etcd" --listen-client-urls "$etcd" --advertise-client-urls "$etcd" --log-level warn \
  --listen-peer-urls "$peers" --initial-advertise-peer-urls "$peers" --initial-cluster "default=$peers"
background apiserver "$apiserver" --etcd-servers="$etcd" --bind-address=127.0.0.1 --advertise-address=127.0.0.1 \
  --secure-port="$port" --tls-cert-file=pki/apiserver.crt --tls-private-key-file=pki/apiserver.key \
  --client-ca-file=pki/ca.crt --token-auth-file=pki/tokens.csv --service-account-key-file=pki/sa.pub \
  --service-account-issuer=https://kubernetes.default.svc --service-account-signing-key-file=pki/sa.key \
  --service-cluster-ip-range=10.96.0.0/16 --authorization-mode=Node,RBAC --disable-admission-plugins=ServiceAccount \
  --endpoint-reconciler-type=none --allow-privileged=true
for _ in $(seq 300); do
  if curl -fs --cacert pki/ca.crt -o /dev/null "https://127.0.0.1:$port/readyz"; then exit 0; fi
  kill -0 "$(cat apiserver.pid)" || break
  sleep 0.2
done
tail -5 "$dir"/*.log >&2
exit 1
