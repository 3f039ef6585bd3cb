import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { chmod, mkdir, readlink, realpath, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { copyOf, environment } from '../release/clone.ts'
import { runProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const project = join(import.meta.dirname, '../..')
const run = promisify(execFile)

type Locked = {
  version?: string
  integrity?: string
  dev?: boolean
  optional?: boolean
  os?: string
  cpu?: string
  hasInstallScript?: boolean
}
type Manifest = {
  scripts: Record<string, string>
  engines: { node: string }
  optionalDependencies: Record<string, string>
  allowScripts: Record<string, boolean>
}

const manifest = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as Manifest
const locked = (
  JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')) as { packages: Record<string, Locked> }
).packages

/**
 * A `node` where npm would install it. It says that it is `version`, and prints its arguments if it is told
 * to run anything.
 */
async function pretendNode(folder: string, version: string) {
  const programs = join(folder, 'node_modules/.bin')
  await mkdir(programs, { recursive: true })
  await writeFile(
    join(programs, 'node'),
    `#!/bin/sh\nif [ "$1" = --version ]; then echo ${version}; else echo "runs $*"; fi\n`,
  )
  await chmod(join(programs, 'node'), 0o700)
}

const failureOf = (command: Promise<unknown>): Promise<{ code: number; stdout: string; stderr: string }> =>
  command.then(
    () => Promise.reject(new Error('the command succeeded')),
    (failure) => failure,
  )

test('the lock file pins the hash of a Node for each platform, and no package may run an install script', () => {
  const platforms = Object.keys(manifest.optionalDependencies).map((name) => {
    const { version, integrity, optional, os, cpu } = locked[`node_modules/${name}`] ?? {}
    expect({ name, version, integrity, optional }).toEqual({
      name,
      version: manifest.optionalDependencies[name],
      integrity: expect.stringMatching(/^sha512-/),
      optional: true,
    })
    return `${os} ${cpu}`
  })

  expect(platforms.toSorted()).toEqual([
    'darwin arm64',
    'darwin x64',
    'linux arm64',
    'linux x64',
    'win32 x64',
  ])
  expect(new Set(Object.values(manifest.optionalDependencies)).size).toBe(1)
  const scripted = Object.entries(locked).filter(([, { hasInstallScript }]) => hasInstallScript === true)
  // they do without: package.json forbids it
  expect(scripted.map(([path]) => path.slice('node_modules/'.length))).toEqual(
    Object.keys(manifest.allowScripts).filter((name) => name !== 'better-sqlite3'),
  )
  // bcrypt brings its binaries
  const others = scripted.filter(([path]) => path !== 'node_modules/bcrypt')
  expect(others.every(([, { dev, optional }]) => dev === true && optional === true)).toBe(true)
  expect(new Set(Object.values(manifest.allowScripts))).toEqual(new Set([false]))
  expect(
    Object.entries(locked).filter(
      ([path, { dev, integrity }]) => path !== '' && dev !== true && integrity === undefined,
    ),
  ).toEqual([])
})

const onNode = Object.entries(manifest.scripts).filter(([, command]) => /\bnode\b|gatehouse/.test(command))

test.each(onNode)('npm run %s says in one line that a Node is too old', async (_name, command) => {
  await using folder = await copyOf('bin')
  await pretendNode(folder.path, 'v24.6.0')

  const failure = await failureOf(run('/bin/sh', ['-c', command], { cwd: folder.path, env: environment }))

  expect(failure).toMatchObject({ code: 2, stdout: '' })
  expect(failure.stderr).toBe(
    'Node 24.7 or later is required, this is v24.6.0: run npm ci, which installs it, or put a later Node on the PATH\n',
  )
  expect(onNode.map(([name]) => name)).toEqual(expect.arrayContaining(['start', 'dev', 'demo', 'test']))
})

test('the oldest Node that scripts accept is the one in package.json', async () => {
  await using folder = await copyOf('bin')
  await pretendNode(folder.path, 'v24.7.0')

  const { stdout } = await run('/bin/sh', ['-c', 'exec sh bin/node.sh FILE a "b c"'], {
    cwd: folder.path,
    env: environment,
  })

  expect(stdout).toBe('runs FILE a b c\n')
  expect(manifest.engines.node).toBe('>=24.7')
})

test('a Node that does not run is reported as such', async () => {
  await using folder = await copyOf('bin')
  await mkdir(folder.file('node_modules/.bin'), { recursive: true })
  await writeFile(folder.file('node_modules/.bin/node'), '#!/bin/sh\nexit 127\n', { mode: 0o700 })

  const failure = await failureOf(run('/bin/sh', ['bin/gatehouse'], { cwd: folder.path, env: environment }))

  expect(failure).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^Node 24.7 or later is needed, and no Node runs here: .*\n$/),
  })
})

test('a server started with an old Node says so in one line', async () => {
  await using folder = await temporaryFolder()
  const older = `data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '24.6.1' })`

  const outcome = await runProcess('src/process/main.ts', {
    folder: folder.path,
    environment: { NODE_OPTIONS: `--import="${older}"` },
  })

  expect(outcome).toEqual({
    code: 2,
    stdout: '',
    stderr: 'Node 24.7 or later is required, this is v24.6.1\n',
  })
})

test('settings in .env reach the server, and a missing .env leaves nothing in the log', async () => {
  await using folder = await copyOf('bin')
  await pretendNode(folder.path, 'v26.1.0')

  const without = await run('/bin/sh', ['bin/gatehouse'], { cwd: folder.path, env: environment })
  await writeFile(folder.file('.env'), 'GATEHOUSE_LOG_LEVEL=warn\n')
  const withSettings = await run('/bin/sh', ['bin/gatehouse', '--dev'], {
    cwd: folder.path,
    env: environment,
  })

  expect(without).toMatchObject({
    stdout: expect.stringMatching(
      /^runs --disable-sigusr1 --report-exclude-env --heap-growing-percent=80 .*\/dist\/gatehouse\.js\n$/,
    ),
    stderr: '',
  })
  expect(withSettings.stdout).toMatch(
    /^runs --env-file=\.env --disable-sigusr1 .*\/dist\/gatehouse\.js --dev\n$/,
  )
})

test('a symbolic link starts the server it leads to', async () => {
  await using folder = await copyOf('bin')
  await pretendNode(folder.path, 'v26.1.0')
  await using elsewhere = await temporaryFolder()
  await symlink(folder.file('bin/gatehouse'), elsewhere.file('gatehouse'))

  const { stdout } = await run(elsewhere.file('gatehouse'), [], { cwd: elsewhere.path, env: environment })

  expect(await readlink(elsewhere.file('gatehouse'))).toBe(folder.file('bin/gatehouse'))
  expect(stdout).toContain(` ${join(await realpath(folder.path), 'dist/gatehouse.js')}\n`)
})
