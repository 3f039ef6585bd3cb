{{- /* The settings of the server that are no secrets. `settings` of the values cannot replace what the chart depends on. */}}
{{- define "gatehouse.settings" -}}
{{- $own := dict
  "GATEHOUSE_LISTEN" "0.0.0.0:8200"
  "GATEHOUSE_TLS" "off"
  "GATEHOUSE_METRICS_LISTEN" (printf "0.0.0.0:%v" .Values.metrics.port)
  "GATEHOUSE_DRAIN_DELAY" (printf "%vs" .Values.drainDelaySeconds)
  "GATEHOUSE_STOP_TIMEOUT" (printf "%vs" .Values.stopTimeoutSeconds)
  "GATEHOUSE_SEAL" .Values.seal.kind
}}
{{- if .Values.tls.secretName }}
  {{- $_ := set $own "GATEHOUSE_TLS" "auto" }}
  {{- $_ := set $own "GATEHOUSE_TLS_CERT_FILE" "/run/secrets/tls/tls.crt" }}
  {{- $_ := set $own "GATEHOUSE_TLS_KEY_FILE" "/run/secrets/tls/tls.key" }}
{{- end }}
{{- if include "gatehouse.isPostgres" . }}
  {{- $_ := set $own "GATEHOUSE_STORAGE" .Values.storage.postgres.url }}
  {{- if .Values.storage.postgres.passwordSecret.name }}
    {{- $_ := set $own "GATEHOUSE_STORAGE_PASSWORD_FILE" "/run/secrets/database/password" }}
  {{- end }}
  {{- if .Values.storage.postgres.caSecret.name }}
    {{- $_ := set $own "GATEHOUSE_STORAGE_CA_FILE" "/run/secrets/database/ca.crt" }}
  {{- end }}
{{- else }}
  {{- $_ := set $own "GATEHOUSE_STORAGE" "sqlite:/data/gatehouse.db" }}
{{- end }}
{{- if eq .Values.seal.kind "static" }}
  {{- $_ := set $own "GATEHOUSE_SEAL_KEY_FILE" "/run/secrets/seal/seal.key" }}
  {{- /* Only `gatehouse init` creates a store: a volume that is missing is no reason to. */}}
  {{- $_ := set $own "GATEHOUSE_AUTO_INIT" "false" }}
  {{- if .Values.seal.previousKeySecret.name }}
    {{- $_ := set $own "GATEHOUSE_SEAL_PREVIOUS_KEY_FILE" "/run/secrets/seal/previous-seal.key" }}
  {{- end }}
{{- else if eq .Values.seal.kind "command" }}
  {{- $_ := set $own "GATEHOUSE_AUTO_INIT" "false" }}
  {{- with .Values.seal.command }}
    {{- $_ := set $own "GATEHOUSE_SEAL_WRAP_COMMAND" .wrap }}
    {{- $_ := set $own "GATEHOUSE_SEAL_UNWRAP_COMMAND" .unwrap }}
    {{- $_ := set $own "GATEHOUSE_SEAL_COMMAND_TIMEOUT" (printf "%vs" .timeoutSeconds) }}
  {{- end }}
{{- end }}
{{- with .Values.apiAddr }}
  {{- $_ := set $own "GATEHOUSE_API_ADDR" . }}
{{- end }}
{{- with .Values.trustedProxies }}
  {{- $_ := set $own "GATEHOUSE_TRUSTED_PROXIES" (join "," .) }}
{{- end }}
{{- if .Values.audit.secret.name }}
  {{- $_ := set $own "GATEHOUSE_AUDIT_FILE" "/run/secrets/audit/audit.json" }}
{{- else if .Values.audit.stdout }}
  {{- $_ := set $own "GATEHOUSE_AUDIT" `[{"path":"stdout","type":"file","options":{"file_path":"stdout"}}]` }}
{{- end }}
{{- range $name, $value := .Values.settings }}
  {{- if hasKey $own $name }}
    {{- fail (printf "settings.%s: the chart sets it; use the value for it" $name) }}
  {{- end }}
{{- end }}
{{- toYaml (merge $own .Values.settings) }}
{{- end }}
