import { ApiError } from '../api/errors.ts'
import { strings } from '../strings.ts'
import { visible } from './visible.ts'

/** What the server says about a failure, verbatim, with the request id that leads an operator to its cause. */
export function Failure({ error, title }: { readonly error: unknown; readonly title?: string | undefined }) {
  if (error === undefined || error === null) return null
  const { lines, requestId } = linesOf(error)
  return (
    <div className="failure" role="alert">
      {title !== undefined && <strong>{title}</strong>}
      {lines.map((line) => (
        <p key={line}>{visible(line)}</p>
      ))}
      {requestId !== '' && (
        <p className="request-id">
          {strings.requestId}: <code>{requestId}</code>
          <br />
          {strings.errors.giveRequestId}
        </p>
      )}
    </div>
  )
}

function linesOf(error: unknown): { readonly lines: readonly string[]; readonly requestId: string } {
  if (!(error instanceof ApiError)) return { lines: [String(error)], requestId: '' }
  if (error.status === 0)
    return { lines: [strings.errors.noServer, strings.errors.noServerNext], requestId: '' }
  const lines = error.errors.length > 0 ? error.errors : [strings.errors.status(error.status)]
  return { lines, requestId: error.requestId }
}

/** The error text that names a field, as the server names it. */
export function errorOfField(error: unknown, field: string): string | undefined {
  if (!(error instanceof ApiError)) return undefined
  return error.errors.find((text) => new RegExp(`(?:^|\\W)${field}(?:\\W|$)`).test(text))
}
