{{- define "sluice.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* Short enough for the suffixes of the chart. */ -}}
{{- define "sluice.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains (include "sluice.name" .) .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "sluice.name" .) | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "sluice.selectorLabels" -}}
app.kubernetes.io/name: {{ include "sluice.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sluice.labels" -}}
{{ include "sluice.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "sluice.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "sluice.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "sluice.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end }}
{{- end }}

{{- /* "true" if limits are shared through Redis, else empty. */ -}}
{{- define "sluice.hasRedis" -}}
{{- if or .Values.redis.url .Values.redis.urlKey }}true{{ end }}
{{- end }}

{{- define "sluice.replicas" -}}
{{- if kindIs "invalid" .Values.replicas }}
{{- ternary 2 1 (eq (include "sluice.hasRedis" .) "true") }}
{{- else }}
{{- .Values.replicas }}
{{- end }}
{{- end }}

{{- /* "true" if there can be several pods, else empty. */ -}}
{{- define "sluice.hasPeers" -}}
{{- if or .Values.autoscaling.enabled (gt (int (include "sluice.replicas" .)) 1) }}true{{ end }}
{{- end }}

{{- /* "true" if the rule file is mounted, else empty. */ -}}
{{- define "sluice.hasRules" -}}
{{- if or .Values.rules.inline .Values.rules.existingConfigMap .Values.rules.existingSecret }}true{{ end }}
{{- end }}

{{- /* The URL of Redis with the files of the mounted Secrets. */ -}}
{{- define "sluice.storeUrl" -}}
{{- $options := list }}
{{- if .Values.redis.existingSecret }}
{{- $options = append $options "password_file=/etc/sluice/redis/password" }}
{{- end }}
{{- if .Values.redis.caSecret }}
{{- $options = append $options "ca_file=/etc/sluice/redis-ca/ca.crt" }}
{{- end }}
{{- .Values.redis.url }}
{{- if $options }}
{{- ternary "&" "?" (contains "?" .Values.redis.url) }}{{ join "&" $options }}
{{- end }}
{{- end }}

{{- /* The listener of a protocol: its address in the section with TLS or in the one without. */ -}}
{{- define "sluice.listener" -}}
{{- $listen := ternary (printf ":%v" .port) "none" (gt (int .port) 0) }}
{{- if .tls.existingSecret }}
{{ .name }}:
  listen: none
{{ .name }}_tls:
  listen: {{ $listen | quote }}
  certificate: /etc/sluice/tls/tls.crt
  key: /etc/sluice/tls/tls.key
  {{- if .tls.clientCaKey }}
  client_certificates: required
  client_ca: /etc/sluice/tls/client-ca.crt
  {{- end }}
{{- else }}
{{ .name }}:
  listen: {{ $listen | quote }}
{{- end }}
{{- end }}

{{- /* The settings that follow from the values of the chart. */ -}}
{{- define "sluice.chartSettings" -}}
{{- range $name := list "http" "resp" "grpc" }}
{{- include "sluice.listener" (dict "name" $name "port" (index $.Values.ports $name) "tls" $.Values.tls) }}
{{- end }}
admin:
  listen: {{ printf ":%v" .Values.ports.admin | quote }}
  dashboard: {{ .Values.admin.dashboard }}
  {{- if .Values.admin.existingSecret }}
  token_file: /etc/sluice/admin/token
  {{- end }}
{{- if .Values.receipts.existingSecret }}
receipts:
  secret_file: /etc/sluice/receipts/secret
{{- end }}
{{- if not .Values.redis.urlKey }}
store: {{ ternary (include "sluice.storeUrl" .) "memory" (ne .Values.redis.url "") | quote }}
{{- end }}
{{- if include "sluice.hasRules" . }}
rules: /etc/sluice/rules/rules.yaml
{{- end }}
rules_source: {{ .Values.rules.source }}
state_dir: /var/lib/sluice
{{- if gt (int .Values.threads) 0 }}
threads: {{ .Values.threads }}
{{- end }}
log:
  format: json
{{- end }}

{{- /* The file with the settings of the server: those of the values, and `settings`. */ -}}
{{- define "sluice.settings" -}}
{{- $own := dict
  "store" "redis.url" "redis_file" "redis.url" "rules" "rules.inline" "rules_source" "rules.source"
  "state_dir" "state.existingClaim" "threads" "threads" "http.listen" "ports.http" "resp.listen" "ports.resp"
  "grpc.listen" "ports.grpc" "admin.listen" "ports.admin" "admin.token" "admin.existingSecret"
  "admin.token_file" "admin.existingSecret" "admin.dashboard" "admin.dashboard"
  "receipts.secret_file" "receipts.existingSecret" }}
{{- range $setting, $value := $own }}
{{- $at := $.Values.settings }}
{{- range $part := splitList "." $setting }}
{{- $at = ternary (dict) $at (not (kindIs "map" $at)) }}
{{- $at = ternary (get $at $part) nil (hasKey $at $part) }}
{{- end }}
{{- if not (kindIs "invalid" $at) }}
{{- fail (printf "settings: the chart sets `%s` itself; use the value `%s`" $setting $value) }}
{{- end }}
{{- end }}
{{- mergeOverwrite (include "sluice.chartSettings" . | fromYaml) (deepCopy .Values.settings) | toYaml }}
{{- end }}

{{- /* Values that pass the schema, and together make no sense. */ -}}
{{- define "sluice.check" -}}
{{- if and (include "sluice.hasPeers" .) (not (include "sluice.hasRedis" .)) }}
{{- fail "replicas, autoscaling: pods don't share limits in memory, so that several pods admit several times as many calls; set redis.url" }}
{{- end }}
{{- if and .Values.redis.urlKey (not .Values.redis.existingSecret) }}
{{- fail "redis.urlKey: set redis.existingSecret, the Secret that has this key" }}
{{- end }}
{{- if and (or .Values.redis.existingSecret .Values.redis.caSecret) (not (include "sluice.hasRedis" .)) }}
{{- fail "redis.existingSecret, redis.caSecret: set redis.url, or redis.urlKey" }}
{{- end }}
{{- if regexMatch "^[a-z-]+://[^@]*:.*@" .Values.redis.url }}
{{- fail "redis.url: the password would be readable in a ConfigMap; put it into a Secret, and set redis.existingSecret" }}
{{- end }}
{{- if or (and .Values.redis.existingSecret (contains "password_file=" .Values.redis.url)) (and .Values.redis.caSecret (contains "ca_file=" .Values.redis.url)) }}
{{- fail "redis.url: redis.existingSecret adds `password_file`, and redis.caSecret `ca_file`; omit them" }}
{{- end }}
{{- if and .Values.redis.urlKey .Values.redis.caSecret }}
{{- fail "redis.caSecret: with redis.urlKey, the URL names the file itself: ca_file=/etc/sluice/redis-ca/ca.crt is only added to redis.url" }}
{{- end }}
{{- if gt (len (compact (list .Values.rules.inline .Values.rules.existingConfigMap .Values.rules.existingSecret))) 1 }}
{{- fail "rules: set one of inline, existingConfigMap and existingSecret" }}
{{- end }}
{{- range .Values.extraEnv }}
{{- if and (has .name (list "SLUICE_ADMIN_TOKEN" "SLUICE_STORE")) (hasKey . "value") }}
{{- fail (printf "extraEnv: %s would be readable in the Deployment; use admin.existingSecret or redis.existingSecret" .name) }}
{{- end }}
{{- end }}
{{- if and (eq .Values.rules.source "store") (not (include "sluice.hasRedis" .)) (not .Values.state.existingClaim) }}
{{- fail "rules.source: without Redis, versions of the rules live in the state directory; set redis.url or state.existingClaim" }}
{{- end }}
{{- if and .Values.tls.clientCaKey (not .Values.tls.existingSecret) }}
{{- fail "tls.clientCaKey: set tls.existingSecret" }}
{{- end }}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) }}
{{- fail "autoscaling: minReplicas is more than maxReplicas" }}
{{- end }}
{{- if and .Values.autoscaling.enabled (not (dig "requests" "cpu" "" .Values.resources)) }}
{{- fail "autoscaling: set resources.requests.cpu, of which the target is a percentage" }}
{{- end }}
{{- end }}

{{- define "sluice.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "sluice.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}
