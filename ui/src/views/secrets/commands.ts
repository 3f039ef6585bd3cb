import { type ApiRequest, curlOf, quotedIfNeeded } from '../../api/request.ts'
import type { NamedCommand } from '../../components/copy-as.tsx'
import { folderOf, withoutSlash } from './paths.ts'

type Options = {
  /** The mount's path. */
  readonly mount: string
  /** The version of the mount. */
  readonly engine?: 1 | 2
  readonly path: string
  readonly namespace: string
  /** The call that reads it. */
  readonly request: ApiRequest
  readonly version?: number | undefined
}

/** How clients read a secret: command lines, and what the External Secrets Operator takes. */
export function readCommands(options: Options): readonly NamedCommand[] {
  const { mount, path, namespace, request, version } = options
  const parts = [
    'kv get',
    ...(namespace === '' ? [] : [`-namespace=${quotedIfNeeded(namespace)}`]),
    `-mount=${quotedIfNeeded(withoutSlash(mount))}`,
    ...(version === undefined ? [] : [`-version=${version}`]),
    quotedIfNeeded(path),
  ].join(' ')
  return [
    { name: 'vault', text: `vault ${parts}` },
    { name: 'bao', text: `bao ${parts}` },
    { name: 'curl', text: curlOf(request, namespace) },
    { name: 'ExternalSecret', text: externalSecretOf(options) },
  ]
}

/** Every field of a secret as a `Secret` of Kubernetes: docs/pipelines.md#kubernetes. */
function externalSecretOf({ mount, engine = 2, path, version }: Options): string {
  const name = objectName(path.slice(folderOf(path).length))
  const lines = [
    `# of a SecretStore for path ${JSON.stringify(withoutSlash(mount))}, version v${engine}`,
    'apiVersion: external-secrets.io/v1',
    'kind: ExternalSecret',
    'metadata:',
    `  name: ${name}`,
    'spec:',
    '  refreshInterval: 5m',
    '  secretStoreRef:',
    '    kind: SecretStore',
    '    name: gatehouse',
    '  target:',
    `    name: ${name}`,
    '  dataFrom:',
    '    - extract:',
    `        key: ${JSON.stringify(path)}`,
    ...(version === undefined ? [] : [`        version: "${version}"`]),
  ]
  return lines.join('\n')
}

/** A name that Kubernetes accepts. */
const objectName = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 63) || 'secret'
