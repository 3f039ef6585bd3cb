{{- define "gatehouse.pod" -}}
metadata:
  annotations:
    # A changed setting replaces the pods.
    checksum/settings: {{ include "gatehouse.settings" . | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  labels:
    {{- include "gatehouse.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "gatehouse.serviceAccount" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  # More than draining and stopping take together.
  terminationGracePeriodSeconds: {{ add .Values.drainDelaySeconds .Values.stopTimeoutSeconds 5 }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: {{ .Values.user }}
    runAsGroup: {{ .Values.user }}
    # The group that may read the mounted secrets.
    fsGroup: {{ .Values.user }}
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "gatehouse.selector" . | nindent 10 }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: gatehouse
      image: {{ include "gatehouse.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      envFrom:
        - configMapRef:
            name: {{ include "gatehouse.fullname" . }}
      env:
        # Unique, and with SQLite the same after a restart: audit chains continue under it.
        - name: GATEHOUSE_REPLICA_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - name: api
          containerPort: 8200
        - name: metrics
          containerPort: {{ .Values.metrics.port }}
      # At the port of the metrics: always plain HTTP, whatever the clients of the API need.
      startupProbe:
        httpGet:
          path: /health/live
          port: metrics
        periodSeconds: 1
        failureThreshold: 60
      livenessProbe:
        httpGet:
          path: /health/live
          port: metrics
        periodSeconds: 10
        timeoutSeconds: 5
      readinessProbe:
        httpGet:
          path: /health/ready
          port: metrics
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 2
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        {{- if eq .Values.seal.kind "static" }}
        - name: seal-key
          mountPath: /run/secrets/seal
          readOnly: true
        {{- end }}
        {{- if include "gatehouse.sealCommandSecret" . }}
        - name: seal-command
          mountPath: /run/secrets/seal-command
          readOnly: true
        {{- end }}
        {{- if .Values.tls.secretName }}
        - name: tls
          mountPath: /run/secrets/tls
          readOnly: true
        {{- end }}
        {{- if include "gatehouse.databaseSecrets" . }}
        - name: database
          mountPath: /run/secrets/database
          readOnly: true
        {{- end }}
        {{- if .Values.audit.secret.name }}
        - name: audit
          mountPath: /run/secrets/audit
          readOnly: true
        {{- end }}
        - name: run
          mountPath: /run/gatehouse
        - name: data
          mountPath: /data
        - name: tmp
          mountPath: /tmp
  volumes:
    {{- if eq .Values.seal.kind "static" }}
    - name: seal-key
      projected:
        # Any other mode opens the key to other users, and the server refuses it.
        defaultMode: 0440
        sources:
          - secret:
              name: {{ .Values.seal.keySecret.name }}
              items:
                - key: {{ .Values.seal.keySecret.key }}
                  path: seal.key
          {{- with .Values.seal.previousKeySecret }}
          {{- if .name }}
          - secret:
              name: {{ .name }}
              items:
                - key: {{ .key }}
                  path: previous-seal.key
          {{- end }}
          {{- end }}
    {{- end }}
    {{- with include "gatehouse.sealCommandSecret" . }}
    - name: seal-command
      secret:
        secretName: {{ . }}
        defaultMode: 0440
    {{- end }}
    {{- with .Values.tls.secretName }}
    - name: tls
      secret:
        secretName: {{ . }}
        defaultMode: 0440
        items:
          - key: tls.crt
            path: tls.crt
          - key: tls.key
            path: tls.key
    {{- end }}
    {{- with include "gatehouse.databaseSecrets" . }}
    - name: database
      projected:
        defaultMode: 0440
        sources:
          {{- . | trim | nindent 10 }}
    {{- end }}
    {{- with .Values.audit.secret }}
    {{- if .name }}
    - name: audit
      secret:
        secretName: {{ .name }}
        defaultMode: 0440
        items:
          - key: {{ .key }}
            path: audit.json
    {{- end }}
    {{- end }}
    - name: run
      emptyDir:
        medium: Memory
        sizeLimit: 1Mi
    - name: tmp
      emptyDir:
        sizeLimit: 64Mi
    {{- if include "gatehouse.isPostgres" . }}
    - name: data
      emptyDir:
        sizeLimit: 64Mi
    {{- end }}
{{- end }}

{{- define "gatehouse.databaseSecrets" -}}
{{- if include "gatehouse.isPostgres" . }}
{{- with .Values.storage.postgres }}
{{- if .passwordSecret.name }}
- secret:
    name: {{ .passwordSecret.name }}
    items:
      - key: {{ .passwordSecret.key }}
        path: password
{{- end }}
{{- if .caSecret.name }}
- secret:
    name: {{ .caSecret.name }}
    items:
      - key: {{ .caSecret.key }}
        path: ca.crt
{{- end }}
{{- end }}
{{- end }}
{{- end }}
