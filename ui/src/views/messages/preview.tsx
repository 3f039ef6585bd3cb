import type { ShownMessage } from '../../api/messages.ts'
import { MessageBody } from '../../messages/message-body.tsx'
import { Banner } from '../../messages/messages.tsx'
import { strings } from '../../strings.ts'

const text = strings.announcements

/** The message as readers will see it: the same parts as on the login page. */
export const Preview = ({ message }: { readonly message: ShownMessage }) => (
  <section className="preview" aria-label={text.preview}>
    {message.type === 'banner' ? (
      <Banner message={message} onClose={() => {}} />
    ) : (
      <div className={`dialog ${message.severity}`}>
        <h2>{message.title}</h2>
        <MessageBody message={message} />
        <div className="dialog-actions">
          <span className="button primary">
            {message.mustAcknowledge ? strings.messages.read : strings.messages.confirm}
          </span>
        </div>
      </div>
    )}
  </section>
)
