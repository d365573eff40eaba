package connector

// ScheduleProperty is the field "schedule" of a source's schema. The service starts the syncs; the source does not read it.
const ScheduleProperty = `"schedule": {
      "title": "Schedule",
      "description": "How often to sync without a request, from 15m to 24h, in minutes or hours. Absent: only on request.",
      "type": "string", "maxLength": 5, "pattern": "^((1[5-9]|[2-9][0-9]|[1-9][0-9]{2}|1[0-3][0-9]{2}|14[0-3][0-9]|1440)m|([1-9]|1[0-9]|2[0-4])h)$",
      "x-pattern-description": "from 15m to 24h, in minutes or hours",
      "x-certified": false, "x-widens": false
    }`
