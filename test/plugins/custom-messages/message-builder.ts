import type { Message } from '../../../src/plugins/custom-messages/message.ts'

/** A message that is active for ever, but for what a test says of it. */
export const aMessage = (fields: Partial<Message> = {}): Message => ({
  id: 'an-id',
  title: 't',
  message: 'SGVsbG8=',
  type: 'banner',
  authenticated: true,
  start: 0n,
  end: undefined,
  link: null,
  options: null,
  ...fields,
})
