import type { ShownMessage } from '../api/messages.ts'
import { visible } from '../components/visible.ts'
import { strings } from '../strings.ts'

/** Text and link of a message. The text is plain text: its line breaks count, nothing else. */
export const MessageBody = ({ message }: { readonly message: ShownMessage }) => (
  <>
    {message.text !== '' && <p className="message-text">{visible(message.text)}</p>}
    {message.notice !== '' && <p>{visible(message.notice)}</p>}
    {message.link !== undefined && <MessageLink {...message.link} />}
  </>
)

/** Relative, or of a scheme that cannot run anything. The server leaves other addresses out. */
const isSafe = (href: string): boolean => {
  if (href === '') return false
  try {
    return ['http:', 'https:', 'mailto:'].includes(new URL(href, location.href).protocol)
  } catch {
    return false
  }
}

const MessageLink = ({ title, href }: { readonly title: string; readonly href: string }) =>
  isSafe(href) ? (
    <a className="message-link" href={href} target="_blank" rel="noopener noreferrer">
      {visible(title)}
      <span className="external" aria-hidden="true">
        ↗
      </span>
      <span className="hidden"> {strings.opensInNewTab}</span>
    </a>
  ) : (
    <span>{visible(title)}</span>
  )
