import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { bundleFolder } from '../support/bundled.ts'
import { startProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Notes each module that the process loads. */
const notingModules = (file: string) => `
  import { appendFileSync } from 'node:fs'
  import { registerHooks } from 'node:module'
  registerHooks({
    load(url, context, next) {
      appendFileSync(${JSON.stringify(file)}, url + '\\n')
      return next(url, context)
    },
  })`

const has = (text: string) => (file: string) => readFileSync(file, 'utf8').includes(text)
/** The name under which OpenTelemetry registers itself. */
const hasTracing = has('opentelemetry.js.api')
const hasPostgres = has('SCRAM-SHA-256')
/** An option of ajv. */
const hasSchemaCompiler = has('strictSchema')

test('a server with the default settings loads no PostgreSQL, HTTP/2, OpenTelemetry or compiler of schemas', async () => {
  await using folder = await temporaryFolder()
  const noted = folder.file('modules')
  const hook = `data:text/javascript,${encodeURIComponent(notingModules(noted))}`

  await using server = await startProcess({
    folder: folder.path,
    environment: { NODE_OPTIONS: `--import=${hook}` },
  })
  await server.as(server.rootToken).read('auth/token/lookup-self')

  const modules = readFileSync(noted, 'utf8').split('\n')
  const loaded = modules.filter((url) => url.startsWith('file:')).map((url) => fileURLToPath(url))
  const bundle = globSync(`${bundleFolder}/*.js`)
  expect(bundle.filter(hasTracing)).not.toEqual([])
  expect(bundle.filter(hasPostgres)).not.toEqual([])
  expect(loaded.length).toBeGreaterThan(2)
  expect(modules).toContain('node:http')
  expect(modules).not.toContain('node:http2')
  expect(loaded.filter((file) => hasTracing(file) || hasPostgres(file))).toEqual([])
  expect(loaded.filter(hasSchemaCompiler)).toEqual([])
})
