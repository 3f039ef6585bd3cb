import type { Message } from '../../../src/plugins/custom-messages/message.ts'

/** A message that is always active, with the overrides of a test. */
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
