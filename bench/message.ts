/** A message as operators write them, active for decades. */
export const aMessage = (index: number) => ({
  title: `Maintenance of region ${index}`,
  message: Buffer.from(`From 20:00 to 22:00 UTC logins in region ${index} may take longer.`).toString(
    'base64',
  ),
  start_time: '2024-01-01T00:00:00Z',
  end_time: '2099-01-01T00:00:00Z',
  link: { Status: `https://status.example.com/${index}` },
})
