import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { headerFault } from '../../lib/net/operator-header.ts'
import { systemReason } from '../../lib/system/private-file.ts'
import { parsedJson } from '../../lib/text/json.ts'

/** Headers by status: `default`, `4xx` or `404`; names are in lower case. */
export type CustomHeaders = Readonly<Record<string, Readonly<Record<string, string>>>>

/** The file of custom headers cannot be used; the message names the setting. */
export class CustomHeadersError extends Error {
  override readonly name = 'CustomHeadersError'
}

const setting = 'GATEHOUSE_CUSTOM_HEADERS_FILE'

const fileFormat = z.record(
  z.string().regex(/^(?:default|[1-5]xx|[1-5]\d\d)$/),
  z.record(z.string(), z.string()),
)

/** Reads the file. Throws a `CustomHeadersError`. docs/tls.md#custom-headers */
export async function readCustomHeaders(file: string): Promise<CustomHeaders> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new CustomHeadersError(`${setting}: cannot read ${file}: ${systemReason(cause)}`, { cause })
  })
  const parsed = fileFormat.safeParse(parsedJson(text))
  if (!parsed.success)
    throw new CustomHeadersError(
      `${setting}: must be a JSON object of default, 4xx or 404 to an object of header names to texts`,
    )
  return Object.fromEntries(
    Object.entries(parsed.data).map(([status, headers]) => [
      status,
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [checkedName(name, value), value])),
    ]),
  )
}

/** The more specific one wins. */
export const headersFor = (custom: CustomHeaders, status: number): Record<string, string> => ({
  ...custom['default'],
  ...custom[`${Math.floor(status / 100)}xx`],
  ...custom[String(status)],
})

function checkedName(given: string, value: string): string {
  const fault = headerFault(given, value)
  if (fault !== undefined) throw new CustomHeadersError(`${setting}: ${fault}`)
  return given.toLowerCase()
}
