import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { markOf, typedDocument } from './document-types.ts'

/** `npm run ui:types`: writes the types of the API's calls that the web UI uses. */
const project = join(import.meta.dirname, '../..')
const generators = join(project, 'test/clients/suites/generated')
const tools = join(project, 'node_modules/.cache/openapi-generators')
const command = join(tools, 'node_modules/openapi-typescript/bin/cli.js')

if (!existsSync(command)) {
  mkdirSync(tools, { recursive: true })
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(generators, name), join(tools, name))
  execFileSync('npm', ['ci', '--prefix', tools, '--ignore-scripts', '--no-audit', '--no-fund'])
}
await using folder = await temporaryFolder()
const document = await typedDocument()
writeFileSync(folder.file('api.json'), JSON.stringify(document))
const options = ['--default-non-nullable', 'false', '-o', folder.file('api.ts')]
execFileSync(process.execPath, [command, folder.file('api.json'), ...options], { stdio: 'ignore' })
const text = readFileSync(folder.file('api.ts'), 'utf8')
  .replace(/^ +\w+\?: never;\n/gm, '')
  .replace(/^ +parameters: \{\n +\};\n/gm, '')
  .replace(/^ +headers: \{\n.*\n +\};\n/gm, '')
  .replace(/^export type (?:webhooks|\$defs|operations) = .*\n/gm, '')
  .replace(/^\/\*\*[\s\S]*?\*\/\n/, '')
writeFileSync(
  join(project, 'ui/src/api/document.ts'),
  `// made by \`npm run ui:types\` from the server's OpenAPI document ${markOf(document)}\n${text}`,
)
