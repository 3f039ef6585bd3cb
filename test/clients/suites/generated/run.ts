import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/**
 * `run.ts GENERATOR`: generates a client from the OpenAPI document of the server at VAULT_ADDR, and runs its
 * driver, which prints a line of JSON for each operation. Needs what install.sh installs.
 */
const run = promisify(execFile)
const project = join(import.meta.dirname, '../../../..')
const tools = join(project, 'node_modules/.cache/openapi-generators')
const python = join(tools, 'python/bin/python')
const mostOutput = 1 << 26

/** Generates a client in this folder and resolves with what its driver prints. */
type Generator = (folder: string, document: string) => Promise<string>

const generators: Readonly<Record<string, Generator>> = {
  'openapi-typescript': async (folder, document) => {
    await symlink(join(tools, 'node_modules'), join(folder, 'node_modules'))
    await cp(join(import.meta.dirname, 'driver.ts.txt'), join(folder, 'driver.ts'))
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    const compilerOptions = {
      target: 'esnext',
      module: 'nodenext',
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      typeRoots: [join(project, 'node_modules/@types')],
    }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
    const command = join(tools, 'node_modules/openapi-typescript/bin/cli.js')
    // a field with a default may be left out
    const options = ['--default-non-nullable', 'false', '-o', join(folder, 'api.ts')]
    await run(process.execPath, [command, document, ...options])
    await run(join(project, 'node_modules/.bin/tsc'), ['-p', folder, '--types', 'node'])
    return await printedBy(process.execPath, [join(folder, 'driver.ts')])
  },
  'openapi-python-client': async (folder, document) => {
    const to = join(folder, 'client')
    const args = ['generate', '--path', document, '--output-path', to]
    const { stdout } = await run(join(tools, 'python/bin/openapi-python-client'), args)
    // it omits what it cannot express, with a warning
    if (stdout.includes('WARNING')) throw new Error(stdout)
    return await printedByPython('openapi_python_client_driver.py', to)
  },
  'openapi-generator-python': async (folder, document) => {
    await openapiGenerator('python', folder, document)
    return await printedByPython('openapi_generator_driver.py', folder)
  },
  'openapi-generator-go': async (folder, document) => {
    const names = ['--git-host', 'example.com', '--git-user-id', 'gatehouse', '--git-repo-id', 'client']
    await openapiGenerator('go', folder, document, ...names, '--package-name', 'client')
    await mkdir(join(folder, 'driver'))
    await cp(join(import.meta.dirname, 'driver.go.txt'), join(folder, 'driver/main.go'))
    const withoutOptimization = ['-gcflags=example.com/gatehouse/client=-N -l', '-ldflags=-s -w']
    const offline = { GOFLAGS: '-mod=mod', GOPROXY: 'off', GOWORK: 'off' }
    const env = { ...process.env, ...offline, GOGC: '400' }
    return await printedBy('go', ['run', ...withoutOptimization, './driver'], { cwd: folder, env })
  },
}

async function openapiGenerator(
  language: string,
  folder: string,
  document: string,
  ...options: string[]
): Promise<void> {
  // most of a short run is the time of its compiler
  const java = [
    '-XX:TieredStopAtLevel=1',
    '-XX:+UseSerialGC',
    '-jar',
    join(tools, 'openapi-generator-cli.jar'),
  ]
  const without = ['--global-property', 'apiDocs=false,modelDocs=false,apiTests=false,modelTests=false']
  const args = ['generate', '-i', document, '-g', language, '-o', folder, ...without, ...options]
  const { stdout, stderr } = await run('java', [...java, ...args], { maxBuffer: mostOutput })
  // it fails only for input that it cannot read at all
  const broken = `${stdout}${stderr}`
    .split('\n')
    .filter((line) => / ERROR |\bnull\)? can't be|attribute .* is /.test(line))
  if (broken.length > 0) throw new Error(broken.join('\n'))
}

const printedByPython = (driver: string, client: string): Promise<string> =>
  printedBy(python, [join(import.meta.dirname, driver)], { env: { ...process.env, PYTHONPATH: client } })

async function printedBy(
  program: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  const { stdout } = await run(program, [...args], { ...options, maxBuffer: mostOutput })
  return stdout
}

const generate = generators[process.argv[2] ?? '']
if (generate === undefined) {
  process.stderr.write(`usage: run.ts GENERATOR, with ${Object.keys(generators).join(', ')}\n`)
  process.exit(2)
}
const call = (path: string, body?: object): Promise<Response> =>
  fetch(`${process.env['VAULT_ADDR']}/v1/${path}`, {
    headers: { 'X-Vault-Token': process.env['VAULT_TOKEN'] ?? '' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  })

const folder = await mkdtemp(join(tmpdir(), 'generated-client-'))
try {
  // the document describes what is mounted; a mount that is there already is refused
  await call('sys/mounts/secret', { type: 'kv-v2' })
  for (const type of ['approle', 'userpass']) await call(`sys/auth/${type}`, { type })
  const answer = await call('sys/internal/specs/openapi')
  const document = join(folder, 'api.json')
  await writeFile(document, await answer.text())
  process.stdout.write(await generate(folder, document))
} finally {
  await rm(folder, { recursive: true })
}
